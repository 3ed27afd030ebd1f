// How ServerTable shows the locks.
#include <algorithm>

#include "engines/table/server_table.h"

namespace holdfast::internal::table {

Task<Result<LockInfo>> ServerTable::inspect(const Name& name, Deadline deadline) {
  std::vector<Name> names(1, name);
  Result<std::vector<LockInfo>> described = co_await describe(std::move(names), deadline);
  if (!described) co_return described.failure();
  co_return described->front();
}

Task<Result<std::vector<LockInfo>>> ServerTable::list(const std::string& prefix,
                                                      Deadline deadline) {
  std::vector<SqlStatement> statements;
  statements.push_back({server_.dialect().names, {}});
  // People look when a lock is contended: not behind all of its waiters.
  const Result<Asked> asked =
      co_await ask(std::move(statements), deadline, std::stop_token(), Urgency::urgent);
  if (!asked) co_return asked.failure();
  const SqlRows& rows = asked->outcome.results.at(0);
  const std::string wanted = prefix_ + prefix;
  std::vector<Name> names;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const std::string full = Key::name_of(rows.bytes(i, 0), rows.at(i, 1));
    if (!full.starts_with(wanted)) continue;
    const std::string name = full.substr(prefix_.size());
    if (!Name::problem_with(name)) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  Result<std::vector<LockInfo>> all = co_await describe(std::move(names), deadline);
  if (all) {
    std::erase_if(
        *all, [](const LockInfo& info) { return info.holders.empty() && info.waiters.empty(); });
  }
  co_return all;
}

Task<Result<std::vector<LockInfo>>> ServerTable::describe(std::vector<Name> names,
                                                          Deadline deadline) {
  constexpr std::size_t kPart = 50;
  constexpr std::int64_t kLongestLine = 100'000;
  const Dialect& sql = server_.dialect();
  std::vector<LockInfo> all;
  for (std::size_t begin = 0; begin < names.size(); begin += kPart) {
    const std::size_t end = std::min(begin + kPart, names.size());
    std::vector<ServerRows> rows;
    std::vector<SqlStatement> statements;
    for (const std::string& text : sql.begin_reading) statements.push_back({text, {}});
    for (std::size_t i = begin; i < end; ++i) {
      rows.emplace_back(sql, key_of(names[i]).key, ClaimId(), server_.process());
      for (SqlStatement& question : rows.back().questions(false, kLongestLine)) {
        statements.push_back(std::move(question));
      }
    }
    statements.push_back({sql.commit, {}});
    const Result<Asked> asked =
        co_await ask(std::move(statements), deadline, std::stop_token(), Urgency::urgent);
    if (!asked)
      co_return Failure(asked.code() == Code::unknown ? Code::unreachable : asked.code(),
                        asked.message());
    for (std::size_t i = begin; i < end; ++i) {
      ServerRows& each = rows[i - begin];
      if (each.read(asked->outcome.results, sql.begin_reading.size() + 3 * (i - begin))) {
        all.push_back(Turn(each, each.row(), each.now()).describe(names[i]));
      } else {
        all.push_back(LockInfo{.name = names[i]});
      }
    }
  }
  co_return all;
}

}  // namespace holdfast::internal::table
