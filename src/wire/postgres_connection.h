// PostgresConnection: one connection to a PostgreSQL server, through libpq on our loop. What is
// sent together travels in one pipeline, so it takes one round trip; a statement is prepared when it
// is first sent, in the same trip. Inside the loop only.
//
// Statements of one run() that open no transaction of their own are one: all or nothing, committed
// before the answer comes. (READ COMMITTED: each of them sees what was committed before it began.)
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fork_watch.h"
#include "base/real_runtime.h"
#include "holdfast/result.h"
#include "wire/child_sockets.h"
#include "wire/endpoint.h"
#include "wire/libpq.h"
#include "wire/socket_watch.h"
#include "wire/sql_connection.h"

namespace holdfast::internal {

class PostgresConnection;
class ServerGroup;

struct PostgresLogin {
  // unix_path is the directory of the socket, as libpq has it; the port is part of its name.
  Endpoint endpoint;
  // Several servers, of which the one that can be written is meant. Then `endpoint` is their name.
  std::shared_ptr<ServerGroup> group;
  std::string user;
  std::string password;
  std::string database;
  std::string application = "holdfast";
  // libpq's sslmode: disable, prefer, require, verify-ca, verify-full.
  std::string tls = "prefer";
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  // Looks at a new connection before its caller gets it. A failure refuses it.
  std::function<Task<Result<void>>(PostgresConnection&, Deadline)> on_connected;
};

class PostgresConnection final : public SqlConnection, private Lookout {
 public:
  // unreachable: nobody answered, or it takes no connections for now. misconfigured: it refused us
  // (login, database, certificate), and will again.
  static Task<Result<std::unique_ptr<PostgresConnection>>> connect(Runtime& runtime,
                                                                   PostgresLogin login,
                                                                   Deadline deadline,
                                                                   std::stop_token stop = {});
  ~PostgresConnection() override;

  // Called for each NOTIFY on a channel that this connection LISTENs to. It must not destroy the connection.
  using OnNotification = std::function<void(std::string_view channel, std::string_view payload)>;
  void hear_notifications(OnNotification listener) { on_notification_ = std::move(listener); }

  bool connected() const override { return session_ != nullptr; }
  Event& lost() override { return lost_; }
  void close() override;
  void give_up(const std::string& why) override;

  int backend_pid() const { return backend_pid_; }
  // Of the socket; -1 if there is none any more.
  int descriptor() const { return session_ ? library_.PQsocket(session_) : -1; }
  // Why it is gone.
  const std::string& why_lost() const { return why_lost_; }

 private:
  // A request of run() that is not answered yet.
  struct Exchange {
    explicit Exchange(Runtime& runtime) : done(runtime) {}
    Event done;
    SqlOutcome outcome;
    // Statements in the order in which they were sent; empty: an execution. Else the text that is
    // being prepared.
    std::vector<std::string> sent;
    std::size_t next = 0;
    bool answer_is_due = true;  // soon
  };

  PostgresConnection(Runtime& runtime, const LibPq& library, PGconn* session);

  Task<SqlOutcome> exchange(const std::vector<SqlStatement>& statements, Deadline deadline,
                            std::stop_token stop) override;
  // One that is no group.
  static Task<Result<std::unique_ptr<PostgresConnection>>> connect_to_server(Runtime& runtime,
                                                                             PostgresLogin login,
                                                                             Deadline deadline,
                                                                             std::stop_token stop);
  static Task<Result<std::unique_ptr<PostgresConnection>>> connect_to_primary(Runtime& runtime,
                                                                              PostgresLogin login,
                                                                              Deadline deadline);
  Task<Result<void>> establish(Deadline deadline, std::stop_token stop);
  void close_in_children();
  bool send(const std::vector<SqlStatement>& statements, Exchange& exchange);
  bool send_one(const SqlStatement& statement, Exchange& exchange);
  void flush();
  void on_readable();
  bool expecting() const override { return exchange_ && exchange_->answer_is_due; }
  bool look() override;
  // Takes what has come; false if the exchange needs more.
  bool take_results();
  void take_result(PGresult* result);
  void finish_exchange();
  void take_notifications();
  static void on_notice(void* self, const PGresult* notice);
  SqlRows rows_of(const PGresult* result) const;
  SqlError error_of(const PGresult* result) const;
  void end(std::string why);

  RealRuntime& runtime_;
  const LibPq& library_;
  PGconn* session_;  // null once it is gone
  std::optional<ClosedInChild> in_child_;
  std::unique_ptr<SocketWatch> watch_;
  ForkWatch fork_;
  Event lost_;
  std::string why_lost_;
  std::string last_words_;  // of the server, when it ends the session
  std::string server_;      // whose connection works, for the observer; empty before
  int backend_pid_ = 0;
  Exchange* exchange_ = nullptr;
  // Texts are long and few: their ends tell them apart, or else the comparison.
  struct HashOfEnd {
    std::size_t operator()(std::string_view text) const {
      constexpr std::size_t kEnd = 32;
      const std::string_view end = text.substr(text.size() - std::min(text.size(), kEnd));
      return std::hash<std::string_view>()(end) + text.size();
    }
  };
  std::unordered_map<std::string, std::string, HashOfEnd> prepared_;  // by text
  OnNotification on_notification_;
};

}  // namespace holdfast::internal
