// The raw statements on PostgreSQL, through libpq; prepared, as ours are.
#pragma once

#include "raw.h"

namespace holdfast::bench {

std::unique_ptr<Raw> make_postgres_raw(const std::string& kind, int port);

}  // namespace holdfast::bench
