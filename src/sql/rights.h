// How an examination reports that the user of a database lacks rights.
#pragma once

#include <string>
#include <vector>

#include "holdfast/examination.h"

namespace holdfast::internal {

// `rights`: "INSERT on holdfast_lock". `engine` is that of docs/engines.
inline void note_missing_rights(const std::string& engine, const std::vector<std::string>& rights,
                                std::vector<Finding>& findings) {
  if (rights.empty()) return;
  std::string list;
  for (const std::string& right : rights) list += (list.empty() ? "" : ", ") + right;
  findings.push_back({Severity::warning, engine + "-rights", "the user lacks rights: " + list,
                      "GRANT them to the user (docs/engines/" + engine +
                          ".md); `holdfast schema --on URL` prints the tables"});
}

}  // namespace holdfast::internal
