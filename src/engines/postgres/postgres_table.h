// PostgresTable: a PostgreSQL server as a lock table needs it. Who waits is woken by NOTIFY on a
// channel of its client's own, which one connection per waiting client listens to. That connection
// also holds an advisory lock on the client's number: where others can take it, nobody listens, and
// the client's waiters are skipped at once. Inside the loop only.
#pragma once

#include "engines/table/previous_incarnations.h"
#include "engines/table/table_server.h"
#include "sql/postgres/session.h"
#include "sql/postgres/settings.h"
#include "wire/reopening.h"

namespace holdfast::internal::postgres {

class PostgresTable : public table::TableServer {
 public:
  PostgresTable(Runtime& runtime, Settings settings);

  const table::Dialect& dialect() const override;
  const table::RecordSql& record_sql() const override;
  table::ConnectionPool& connections() override { return connections_; }
  table::ConnectionPool& renewals() override { return renewals_; }
  SqlTrouble trouble_with(const SqlError& error) const override;
  Failure failure_of(const SqlError& error) const override;
  Task<Result<void>> make_tables(Deadline deadline) override;
  Task<Result<void>> listen(Deadline deadline, std::stop_token stop) override;
  table::ProcessId process() const override { return process_; }
  SqlStatement wake(const table::Wake& wake) override;
  void now_waiting(const std::string& key) override;
  void missed_wake() override;
  void close() override;

 protected:
  virtual Task<Result<std::unique_ptr<SqlConnection>>> open(SessionUse use);
  Deadline connect_deadline() const {
    return Deadline::at(runtime_.now() + settings_.connect_timeout);
  }
  Runtime& runtime() { return runtime_; }
  const Settings& settings() const { return settings_; }

 private:
  bool listening() const { return listener_ && listener_->connected(); }
  Task<Result<void>> open_listener();
  // Listens again when the connection is lost while anybody waits, for as long as this client lives. A
  // connection can also end without a word: the listener is asked from time to time.
  Task<void> keep_listening();
  Task<void> prove_listener();
  void on_notification(std::string_view payload);

  Runtime& runtime_;
  Settings settings_;
  table::ConnectionPool connections_;
  table::ConnectionPool renewals_;
  std::shared_ptr<PostgresConnection> listener_;  // also of the one that asks it
  Event wanted_;                                  // somebody waits
  BootTime listening_since_{};
  table::ProcessId process_ = 0;
  table::PreviousIncarnations previous_;
  bool keeping_ = false;
  Reopening reopening_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::postgres
