// The raw statements on MySQL and MariaDB, through MariaDB's client library.
#pragma once

#include "raw.h"

namespace holdfast::bench {

std::unique_ptr<Raw> make_mysql_raw(const std::string& kind, int port);

}  // namespace holdfast::bench
