// RecordSql: the statements of a table of records in a server's own SQL. Their parameters stand in the order given.
#pragma once

#include <string>

namespace holdfast::internal::table {

struct RecordSql {
  std::string read;    // name -> value
  std::string insert;  // name, full name, value. Changes one row, if there was none.
  std::string update;  // value, name, expected. Changes one row, if its value is the expected one.
  std::string remove;  // name, expected. The same.
  std::string list;    // prefix -> name, full name, value of those whose full name begins with it
  std::string now;     // -> microseconds since 1970, by the server's clock
};

}  // namespace holdfast::internal::table
