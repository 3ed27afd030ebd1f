// MysqlTable: a MySQL or MariaDB server as a lock table needs it. It has no NOTIFY, so who waits is
// woken otherwise: one connection per waiting client, the listener, sleeps in the server, and who
// grants ends that sleep (KILL QUERY), in one request with the commit. Behind the sleep the listener
// has already sent the question what was granted, so that the answer comes with the end of the
// sleep. Inside the loop only.
//
// How a wake-up could be missed, and why it is not: a KILL that comes before the sleep has begun ends
// nothing. But the sleep begins only if nobody of this client was granted anything, and the grant is
// committed before the KILL is sent. Who came after the sleep began is not asked for behind it: the
// KILL ends the sleep, and the next one does not begin.
//
// Why the sleep is a GET_LOCK and not SLEEP: two KILLs of one SLEEP within microseconds stop a whole
// MariaDB server for two seconds. To wait for a named lock has no such harm. Another connection of
// the same client, the keeper, has that lock; if it ends, the listener gets the lock, and both are
// opened anew.
#pragma once

#include "engines/mysql/settings.h"
#include "engines/table/former_processes.h"
#include "engines/table/table_server.h"
#include "wire/reopening.h"

namespace holdfast::internal::mysql {

class MysqlTable final : public table::TableServer {
 public:
  MysqlTable(Runtime& runtime, Settings settings);

  const table::Dialect& dialect() const override;
  table::ConnectionPool& connections() override { return connections_; }
  table::ConnectionPool& renewals() override { return renewals_; }
  table::Trouble trouble_with(const SqlError& error) const override;
  Failure failure_of(const SqlError& error) const override;
  Task<Result<void>> make_tables(Deadline deadline) override;
  Task<Result<void>> listen(Deadline deadline, std::stop_token stop) override;
  table::ProcessId process() const override { return process_; }
  void wake(const table::Wake& wake, const table::ServerRows& rows,
            std::vector<SqlStatement>& inside, std::vector<SqlStatement>& after) override;
  void now_waiting() override;
  void missed_wake() override;
  void close() override;

 private:
  bool listening() const {
    return listener_ && listener_->connected() && keeper_ && keeper_->connected();
  }
  // The purpose of a connection decides how long the server waits for a row, and for us.
  struct Use {
    const char* lock_wait_s;
    const char* wait_timeout_s;
  };
  static const Use kCalls;
  static const Use kRenewals;
  static const Use kListening;
  Task<Result<std::unique_ptr<MariadbConnection>>> connect(Use use);
  Task<Result<std::unique_ptr<SqlConnection>>> open(Use use);
  Task<Result<void>> open_listener();
  Task<Result<std::unique_ptr<MariadbConnection>>> open_keeper(table::ProcessId process);
  // Sleeps and looks in turns while anybody waits; for as long as this client lives.
  Task<void> keep_listening();
  Task<void> sleep_and_look();
  // Lets the keeper say something, lest the server end it. Beside the listener's sleep.
  Task<void> keep_keeper();
  void tell(const SqlRows& news);
  static bool got_lock(const SqlOutcome& outcome);
  // What came of a request that begins with GET_LOCK, when a connection is opened.
  Result<void> lock_taken(const SqlOutcome& outcome) const;

  Runtime& runtime_;
  Settings settings_;
  std::string where_;
  table::ConnectionPool connections_;
  table::ConnectionPool renewals_;
  std::shared_ptr<MariadbConnection> listener_;  // also of whoever sleeps in it
  std::shared_ptr<MariadbConnection> keeper_;
  BootTime keeper_heard_at_{};
  BootTime listening_since_{};
  table::ProcessId process_ = 0;
  table::FormerProcesses former_;
  Event wanted_;  // somebody waits
  bool keeping_ = false;
  Reopening reopening_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::mysql
