// Connection: one connection to a Redis server, shared by all calls of a client. Inside the loop only.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "engines/redis/reply.h"
#include "engines/redis/words.h"
#include "holdfast/runtime.h"
#include "wire/pipelined_connection.h"

namespace holdfast::internal::redis {

struct Login {
  std::string user;
  std::string password;
  int database = 0;
  std::string client_name;
};

struct ConnectionSettings {
  Login login;
  std::shared_ptr<const TlsContext> tls;  // null: plain
  Duration connect_timeout = std::chrono::seconds(5);
  bool must_be_master = false;  // found through others: check what it says of itself
  std::string info = "memory";  // the section for on_info
};

struct Answer {
  Reply reply;
  BootTime sent_at;
  std::uint64_t generation = 0;  // of the connection, see below
  bool resent = false;           // what was sent after the request may have been executed before it
};

class Connection final : public PipelinedConnection {
 public:
  // Where the server is; asked each time a connection is opened.
  using Locate = std::function<Task<Result<Endpoint>>(Deadline)>;

  Connection(Runtime& runtime, ConnectionSettings settings, Locate where);
  ~Connection() { abandon(); }

  // Replies that nobody asked for (a subscription's messages), the end of a connection, and the answer
  // to INFO when one was opened.
  std::function<void(const Reply&)> on_push;
  std::function<void()> on_lost;
  std::function<void(const std::string&)> on_info;
  // Further questions in the same write as the login, and the function that gets the answers, errors among them. Its
  // failure refuses the connection.
  std::vector<Words> questions;
  std::function<Result<void>(const std::vector<Reply>&, const Endpoint&)> on_greeted;

  // unreachable, misconfigured: it never left. unknown: it left, and no reply came by the
  // deadline, before the connection broke, or before `stop`. An error of the server's is an Answer.
  Task<Result<Answer>> call(std::string command, Deadline deadline, std::stop_token stop = {});
  // How an error reply to a call reads to a user of the lock. The observer hears of it.
  Failure refused(const Reply& error) const;
  // Several at once, in one write; one outcome each, in order.
  Task<std::vector<Result<Answer>>> call_all(std::vector<std::string> commands, Deadline deadline,
                                             std::stop_token stop = {});

 private:
  struct Pending : Call {
    explicit Pending(Connection& connection)
        : Call(connection), outcome(Failure(Code::unknown, {})) {}
    Result<Answer> outcome;
  };

  Task<Result<Endpoint>> prepare(Deadline deadline) override;
  Task<Result<void>> greet(Deadline deadline) override;
  void break_calls(const std::string& why) override;
  void on_ended() override;
  void on_bytes(std::string_view bytes) override;
  void on_reply(Reply&& reply);

  ConnectionSettings settings_;
  Locate where_;
  std::unique_ptr<ReplyParser> parser_;
  bool spoke_unasked_ = false;
};

// How an error reply reads to a user of the lock. (Of a call: see Connection::refused().)
Failure failure_of(const Reply& error, const Endpoint& server);

}  // namespace holdfast::internal::redis
