// MysqlTable: a MySQL or MariaDB server as a lock table needs it. It has no NOTIFY, so who waits is
// woken otherwise: one connection per waiting client sleeps in the server (SLEEP, for as long as the
// client's waiters are those that it knows of), and who grants ends that sleep (KILL QUERY), in one
// request with the commit. Inside the loop only.
//
// How a wake-up could be missed, and why it is not: a KILL that comes before the sleep has begun ends
// nothing. But the sleep begins only if the rows of this client's waiters are unchanged, and
// the grant, which is committed before the KILL is sent, has removed one.
//
// Why there is a bell: two KILLs within microseconds stop a whole MariaDB server for two seconds. The
// second holds what the sleeper wants, whom the first has woken, and tries for what the sleeper has.
// So only who rings a bell that is silent sends a KILL, and the sleeper silences it before it makes
// sure that nothing has changed, and sleeps again.
#pragma once

#include <unordered_set>

#include "engines/mysql/settings.h"
#include "engines/table/table_server.h"
#include "wire/reopening.h"

namespace holdfast::internal::mysql {

class MysqlTable final : public table::TableServer {
 public:
  MysqlTable(Runtime& runtime, Settings settings);

  const table::Dialect& dialect() const override;
  table::ConnectionPool& connections() override { return connections_; }
  table::Trouble trouble_with(const SqlError& error) const override;
  Failure failure_of(const SqlError& error) const override;
  Task<Result<void>> make_tables(Deadline deadline) override;
  Task<Result<void>> listen(Deadline deadline, std::stop_token stop) override;
  table::ProcessId process() const override { return process_; }
  void wake(const table::Wake& wake, const table::ServerRows& rows,
            std::vector<SqlStatement>& inside, std::vector<SqlStatement>& after) override;
  void now_waiting() override;
  void close() override;

 private:
  // The waiters of this client, as the server has them: enough to see whether they changed.
  struct Crowd {
    std::int64_t count = -1;
    std::int64_t seqs = 0;  // their sum: who comes has a higher one than all before
  };

  bool listening() const { return listener_ && listener_->connected(); }
  Task<Result<std::unique_ptr<MariadbConnection>>> connect();
  Task<Result<std::unique_ptr<SqlConnection>>> open();
  Task<Result<void>> open_listener();
  // Sleeps and looks in turns while anybody waits; for as long as this client lives.
  Task<void> keep_listening();
  Task<void> sleep_and_look();
  void see(const SqlRows& rows);

  Runtime& runtime_;
  Settings settings_;
  std::string where_;
  table::ConnectionPool connections_;
  std::unique_ptr<MariadbConnection> listener_;
  table::ProcessId process_ = 0;
  Crowd crowd_;
  Event wanted_;              // somebody waits
  bool others_came_ = false;  // who waits, since the crowd was counted
  bool keeping_ = false;
  Reopening reopening_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::mysql
