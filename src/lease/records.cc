#include "lease/records.h"

#include "base/unreachable_instead_of_unknown.h"
#include "holdfast/async.h"

namespace holdfast::internal {

Task<Result<std::optional<std::string>>> read_record(Engine& engine, Name name, Deadline deadline) {
  Result<std::optional<std::string>> value = co_await contained(engine.read_record(name, deadline));
  if (!value) co_return unreachable_instead_of_unknown(value.failure());
  co_return value;
}

Task<Result<bool>> swap_record(Engine& engine, Name name, std::optional<std::string> expected,
                               std::optional<std::string> value, Deadline deadline) {
  if (value && value->size() > kMaxRecordBytes) {
    co_return Failure(Code::invalid_argument, "a record has at most " +
                                                  std::to_string(kMaxRecordBytes) +
                                                  " bytes; the one for '" + name.display() +
                                                  "' has " + std::to_string(value->size()));
  }
  co_return co_await contained(
      engine.swap_record(name, std::move(expected), std::move(value), deadline));
}

Task<Result<std::vector<Record>>> list_records(Engine& engine, std::string prefix,
                                               Deadline deadline) {
  Result<std::vector<Record>> all = co_await contained(engine.list_records(prefix, deadline));
  if (!all) co_return unreachable_instead_of_unknown(all.failure());
  co_return all;
}

Task<Result<std::optional<WallTime>>> server_time(Engine& engine, Deadline deadline) {
  Result<std::optional<WallTime>> now = co_await contained(engine.server_time(deadline));
  if (!now) co_return unreachable_instead_of_unknown(now.failure());
  co_return now;
}

}  // namespace holdfast::internal
