// The lock table of the literature: a row per lock, inserted to take it and deleted to give it back,
// and nothing that ends the rows of the dead. On PostgreSQL and MariaDB; here to be caught.
#pragma once

#include <memory>
#include <string>

#include "lab/torture/contender.h"

namespace holdfast::lab {

// Throws std::runtime_error if there is no connection.
std::unique_ptr<Contender> make_table_without_expiry(const std::string& url,
                                                     const std::string& lock_name);

}  // namespace holdfast::lab
