// Facts that a PostgreSQL server tells of itself, and what follows for locks. Pure: examiner.h asks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/examination.h"
#include "wire/sql_connection.h"

namespace holdfast::internal::postgres {

struct Facts {
  std::string recipe;                           // table, advisory, row
  std::string server;                           // where it is
  std::string version;                          // as version() tells it
  std::map<std::string, std::string> settings;  // those that are known
  bool in_recovery = false;
  // Another process answers than the one that greeted us: there is a proxy in between.
  bool behind_proxy = false;
  // The proxy lends one server connection to several clients in turn.
  bool pools_transactions = false;
  bool pooled = false;  // the URL says so (pooled=yes), and the recipe is made for it
  std::vector<std::string> missing_rights;  // "INSERT on holdfast_lock"
};

// The questions, for one round trip: product first, which also impostors answer.
std::vector<SqlStatement> questions();
// Reads the answers. `results` may end early, at what the server did not understand.
Facts facts_from(const std::vector<SqlRows>& results, std::string recipe, std::string server);

Examination examined(const Facts& facts);

}  // namespace holdfast::internal::postgres
