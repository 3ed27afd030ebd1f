// The tables of a URL's recipe: how they are made, and by whom if not by us.
#pragma once

#include <string>
#include <vector>

#include "sql/mysql/settings.h"

namespace holdfast::internal::mysql {

// The statements that make the tables.
std::vector<std::string> schema_of(const Settings& settings);
std::vector<SqlStatement> make_tables(const Settings& settings);

// For create_schema=no: what an administrator has to run.
Failure tables_missing(const Settings& settings);

}  // namespace holdfast::internal::mysql
