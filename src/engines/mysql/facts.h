// Facts that a MySQL server tells of itself, and findings for locks. Pure: examiner.h asks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "holdfast/examination.h"
#include "sql/mysql/settings.h"

namespace holdfast::internal::mysql {

struct Facts {
  RecipeName recipe = RecipeName::table;
  std::string server;                            // where it is
  std::map<std::string, std::string> variables;  // those that it has
  std::vector<std::string> missing_rights;       // "INSERT on holdfast_lock"

  // Empty if it has no such variable.
  std::string variable(const std::string& name) const {
    const auto place = variables.find(name);
    return place == variables.end() ? "" : place->second;
  }
  bool is_on(const std::string& name) const {
    const std::string value = variable(name);
    return value == "ON" || value == "1";
  }
  bool read_only() const { return is_on("read_only") || is_on("super_read_only"); }
};

// One statement that every product understands; it tells the variables that exist there.
SqlStatement question();
Facts facts_from(const SqlRows& rows, RecipeName recipe, std::string server);

Examination examined(const Facts& facts);

}  // namespace holdfast::internal::mysql
