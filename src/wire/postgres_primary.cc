// Which PostgreSQL of several can be written: what each says of itself.
#include <charconv>

#include "wire/postgres_connection.h"
#include "wire/server_group.h"

namespace holdfast::internal {

namespace {

// (A standby knows its timeline only as of its last checkpoint: it may be on a later one.)
constexpr const char* kDescribe =
    "SELECT current_setting('transaction_read_only'), c.system_identifier,"
    " concat(c.system_identifier, ' ', extract(epoch FROM pg_postmaster_start_time())),"
    " CASE WHEN pg_is_in_recovery() THEN to_hex(k.timeline_id)"
    " ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END"
    " FROM pg_control_system() c, pg_control_checkpoint() k";

ServerState state_from(const SqlRows& rows) {
  ServerState state;
  state.writable = rows.bytes(0, 0) == "off";  // "on" while a server recovers
  state.cluster = rows.bytes(0, 1);
  state.id = rows.bytes(0, 2);
  const std::string timeline = rows.bytes(0, 3);
  std::from_chars(timeline.data(), timeline.data() + timeline.size(), state.timeline, 16);
  return state;
}

Task<Result<ServerGroup::Candidate>> ask(Runtime& runtime, PostgresLogin login, Deadline deadline) {
  Result<std::unique_ptr<PostgresConnection>> connected =
      co_await PostgresConnection::connect(runtime, std::move(login), deadline);
  if (!connected) co_return connected.failure();
  std::vector<SqlStatement> question(1, SqlStatement{kDescribe, {}, true});
  const SqlOutcome outcome = co_await (*connected)->run(std::move(question), deadline);
  if (!outcome.ok()) co_return Failure(Code::unreachable, outcome.error->message);
  if (outcome.results.at(0).empty()) {
    co_return Failure(Code::misconfigured, "it does not say what it is");
  }
  ServerGroup::Candidate candidate{.connection = std::move(connected).value(),
                                   .state = state_from(outcome.results.at(0))};
  co_return candidate;
}

}  // namespace

Task<Result<std::unique_ptr<PostgresConnection>>> PostgresConnection::connect_to_primary(
    Runtime& runtime, PostgresLogin login, Deadline deadline) {
  const std::shared_ptr<ServerGroup> group = std::exchange(login.group, nullptr);
  ServerGroup::Ask ask_server = [&runtime, login](const Endpoint& endpoint, Deadline limit) {
    PostgresLogin one = login;
    one.endpoint = endpoint;
    return ask(runtime, std::move(one), limit);
  };
  Result<std::unique_ptr<SqlConnection>> found =
      co_await group->connect(runtime, std::move(ask_server), deadline);
  if (!found) co_return found.failure();
  co_return std::unique_ptr<PostgresConnection>(
      static_cast<PostgresConnection*>(std::move(found).value().release()));
}

}  // namespace holdfast::internal
