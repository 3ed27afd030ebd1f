// Which MySQL or MariaDB of several can be written: what each says of itself.
#include "wire/mariadb_connection.h"
#include "wire/server_group.h"

namespace holdfast::internal {

namespace {

// How many threads apply the changes of other servers.
std::string count_appliers(bool is_mariadb) {
  return is_mariadb ? "SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.GLOBAL_STATUS"
                      " WHERE VARIABLE_NAME = 'SLAVES_RUNNING'"
                    : "SELECT COUNT(*) FROM performance_schema.replication_applier_status"
                      " WHERE SERVICE_STATE = 'ON'";
}

// As @@global.read_only has it.
bool is_off(const SqlRows& rows) {
  return !rows.empty() && !rows.rows.front().empty() &&
         (rows.bytes(0, 0) == "0" || rows.bytes(0, 0) == "OFF");
}

Task<Result<ServerGroup::Candidate>> ask(Runtime& runtime, MariadbSettings settings,
                                         Deadline deadline) {
  Result<std::unique_ptr<MariadbConnection>> connected =
      co_await MariadbConnection::connect(runtime, settings, deadline);
  if (!connected) co_return connected.failure();
  const bool is_mariadb = (*connected)->is_mariadb();
  std::vector<SqlStatement> question(1);
  question[0].text = std::string(
                         "SELECT @@global.read_only, CONCAT_WS(' ', @@hostname, @@port, @@datadir,"
                         " @@server_id") +
                     (is_mariadb ? ")" : ", @@server_uuid)");
  const SqlOutcome outcome = co_await (*connected)->run(std::move(question), deadline);
  if (!outcome.ok()) co_return Failure(Code::unreachable, outcome.error->message);
  const SqlRows& rows = outcome.results.at(0);
  ServerGroup::Candidate candidate;
  candidate.state.writable = is_off(rows);
  candidate.state.id = rows.bytes(0, 1);
  // MySQL shows this only to those who have the right to see it.
  std::vector<SqlStatement> appliers(1);
  appliers[0].text = count_appliers(is_mariadb);
  const SqlOutcome applying = co_await (*connected)->run(std::move(appliers), deadline);
  if (!applying.ok() && applying.error->lost) {
    co_return Failure(Code::unreachable, applying.error->message);
  }
  const bool known = applying.ok() && !applying.results.at(0).empty();
  candidate.state.replicates = known && applying.results.at(0).number(0, 0) > 0;
  candidate.connection = std::move(connected).value();
  co_return candidate;
}

}  // namespace

void MariadbConnection::check_writable() {
  std::optional<SqlError>& error = outcome_.error;
  std::vector<SqlRows>& results = outcome_.results;
  if (error) {
    if (!error->read_only) return;
    error->may_have_run = !results.empty();
  } else {
    const bool writable = !results.empty() && is_off(results.back());
    if (!results.empty()) results.pop_back();
    if (writable) return;
    // The rest was executed all the same, if the user has the right to write to such a server.
    error = SqlError{.message = "it is read-only now", .may_have_run = true, .read_only = true};
  }
  error->lost = true;
  report_read_only();
}

Task<Result<std::unique_ptr<MariadbConnection>>> MariadbConnection::connect_to_primary(
    Runtime& runtime, MariadbSettings settings, Deadline deadline) {
  const std::shared_ptr<ServerGroup> group = std::exchange(settings.group, nullptr);
  const std::string where = settings.endpoint.display();
  ServerGroup::Ask ask_server = [&runtime, settings](const Endpoint& endpoint, Deadline limit) {
    MariadbSettings one = settings;
    one.endpoint = endpoint;
    return ask(runtime, std::move(one), limit);
  };
  Result<std::unique_ptr<SqlConnection>> found =
      co_await group->connect(runtime, std::move(ask_server), deadline);
  if (!found) co_return Failure(found.code(), "MySQL at " + where + ": " + found.message());
  co_return std::unique_ptr<MariadbConnection>(
      static_cast<MariadbConnection*>(std::move(found).value().release()));
}

}  // namespace holdfast::internal
