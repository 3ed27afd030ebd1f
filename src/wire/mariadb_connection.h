// MariadbConnection: one connection to a MySQL or MariaDB server, through the non-blocking calls of
// MariaDB's client library. Statements go in the text protocol, several in one write. Inside the
// loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/real_runtime.h"
#include "holdfast/result.h"
#include "wire/child_sockets.h"
#include "wire/duplicate_watch.h"
#include "wire/endpoint.h"
#include "wire/sql_connection.h"
#include "wire/tls.h"

struct st_mysql;
struct st_mysql_res;

namespace holdfast::internal {

struct LibMariadb;
class MariadbConnection;
class ServerGroup;

struct MariadbSettings {
  Endpoint endpoint;
  // Several servers, of which the one that can be written is meant. Then `endpoint` is their name.
  std::shared_ptr<ServerGroup> group;
  std::string user;
  std::string password;
  std::string database;
  std::optional<TlsSettings> tls;  // nothing: a plain connection
  Duration connect_timeout{};
  // Looks at a new connection before its caller gets it. A failure refuses it.
  std::function<Task<Result<void>>(MariadbConnection&, Deadline)> on_connected;
};

class MariadbConnection final : public SqlConnection, private Lookout {
 public:
  // misconfigured, unreachable: why there is none.
  static Task<Result<std::unique_ptr<MariadbConnection>>> connect(Runtime& runtime,
                                                                  const MariadbSettings& settings,
                                                                  Deadline deadline);
  ~MariadbConnection() override;
  MariadbConnection(const MariadbConnection&) = delete;
  MariadbConnection& operator=(const MariadbConnection&) = delete;

  bool connected() const override { return raw_ != nullptr && step_ != Step::connecting; }
  Event& lost() override { return lost_; }
  void close() override { end("closed"); }
  void give_up(const std::string& why) override;

  // The server's number for this connection, as in its process list.
  std::uint64_t session() const { return session_; }
  // "10.11.6-MariaDB", "8.0.36".
  const std::string& version() const { return version_; }
  bool is_mariadb() const { return version_.find("MariaDB") != std::string::npos; }
  // Of the socket; -1 if there is none any more.
  int descriptor() const { return watch_ ? watch_->descriptor() : -1; }

 private:
  // The last request to the library.
  enum class Step { idle, connecting, querying, storing, going_on };

  MariadbConnection(Runtime& runtime, const LibMariadb& library);

  Task<SqlOutcome> exchange(const std::vector<SqlStatement>& statements, Deadline deadline,
                            std::stop_token stop) override;
  // One that is no group.
  static Task<Result<std::unique_ptr<MariadbConnection>>> connect_to_server(
      Runtime& runtime, const MariadbSettings& settings, Deadline deadline);
  static Task<Result<std::unique_ptr<MariadbConnection>>> connect_to_primary(
      Runtime& runtime, MariadbSettings settings, Deadline deadline);
  Result<void> prepare(const MariadbSettings& settings);
  // At one address of the server.
  Task<Result<void>> open(const MariadbSettings& settings, const std::string& host,
                          Deadline deadline);
  // False if it cannot be watched; then the connection has ended.
  bool watch_socket();
  void begin(const std::vector<SqlStatement>& statements);
  bool expecting() const override { return answer_is_due_; }
  bool look() override;
  // The socket is ready: goes on with what is under way. May end the connection.
  void on_ready();
  // Continues it. Returns what the library waits for; 0 if it is done.
  int resume();
  // From the end of a step through all that can be done at once.
  void advance(int waiting);
  int next_step();
  int ask_for_rows();
  void take_rows();
  int finish();
  int fail();
  // Of a server in a group, each answer ends with whether it can be written.
  void check_writable();
  void look_if_lost();
  // True if the connection that is being opened was refused.
  bool end_if_refused();
  void end(const std::string& why);

  RealRuntime& runtime_;
  const LibMariadb& library_;
  st_mysql* raw_ = nullptr;
  bool tls_ = false;
  std::uint64_t session_ = 0;
  std::string version_;
  std::optional<ClosedInChild> in_child_;
  std::unique_ptr<DuplicateWatch> watch_;
  Event lost_;
  std::string why_lost_;
  std::string server_;  // whose connection works, for the observer; empty before

  Step step_ = Step::idle;
  int waiting_ = 0;  // MYSQL_WAIT_…
  bool answer_is_due_ = false;
  Event done_;  // with step_ back at idle, or the connection lost
  SqlOutcome outcome_;
  std::string text_;  // what is being sent; the library does not copy it
  // Where the library puts what it returns at the end of a step.
  st_mysql* connected_ = nullptr;
  st_mysql_res* rows_ = nullptr;
  int failed_ = 0;
};

// The statements with their values in place, as one text.
std::string mariadb_text(const std::vector<SqlStatement>& statements);

// How it reads to a user that the server or the library refused a connection; names `where`.
Failure mariadb_refusal(const SqlError& error, const std::string& where);

}  // namespace holdfast::internal
