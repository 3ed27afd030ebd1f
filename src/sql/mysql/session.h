// Sessions of ours at a MySQL or MariaDB server. Each sets for itself what matters to locks and to versioned rows,
// whatever the server's defaults are. Inside the loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sql/mysql/settings.h"

namespace holdfast::internal::mysql {

struct SessionUse {
  // Ends a session that says nothing for so long: one whose client is gone without a word.
  const char* wait_timeout_s = "600";
  std::string more{};  // further settings, each from ", "
};

struct NewSession {
  std::unique_ptr<MariadbConnection> connection;
  std::vector<SqlRows> answers;  // to `more`
};
// Makes the statements that are sent behind the settings, in the same trip.
using More = std::function<std::vector<SqlStatement>(const MariadbConnection&)>;
Task<Result<NewSession>> open_session(Runtime& runtime, const Settings& settings, SessionUse use,
                                      Deadline deadline, More more = nullptr);

}  // namespace holdfast::internal::mysql
