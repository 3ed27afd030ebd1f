// The tables of a URL's recipe: how they are made, and by whom if not by us.
#pragma once

#include <string>
#include <vector>

#include "sql/postgres/settings.h"

namespace holdfast::internal::postgres {

// An identifier in quotes.
std::string quoted(const std::string& identifier);

// The statements that make the tables, and in front of them the schema that the URL names.
std::vector<std::string> schema_of(const Settings& settings);

// The same, to be executed in one transaction.
std::vector<SqlStatement> make_tables(const Settings& settings);

// For create_schema=no: what an administrator has to run.
Failure tables_missing(const Settings& settings);

// The names of the tables that the recipe reads and writes.
std::vector<std::string> tables_of(const std::string& recipe);

}  // namespace holdfast::internal::postgres
