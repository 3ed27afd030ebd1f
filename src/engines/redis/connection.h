// Connection: one connection to a Redis server, shared by all calls of a client. Calls are
// pipelined; one that gave up keeps its turn, so that its reply never reaches another. Opened on
// demand, and again after it broke. Inside the loop only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engines/redis/reply.h"
#include "engines/redis/words.h"
#include "holdfast/runtime.h"
#include "wire/reopening.h"
#include "wire/silence.h"
#include "wire/stream.h"

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

class Connection final : private StreamListener {
 public:
  // Where the server is; asked each time a connection is opened.
  using Locate = std::function<Task<Result<Endpoint>>(Deadline)>;

  Connection(Runtime& runtime, ConnectionSettings settings, Locate where);
  ~Connection();

  // Replies that nobody asked for (a subscription's messages), the end of a connection, and the answer
  // to INFO when one was opened.
  std::function<void(const Reply&)> on_push;
  std::function<void()> on_lost;
  std::function<void(const std::string&)> on_info;
  // Sent in the same write as the login; on_greeted hears the answers, errors among them, and refuses the
  // connection by a failure.
  std::vector<Words> questions;
  std::function<Result<void>(const std::vector<Reply>&, const Endpoint&)> on_greeted;

  // unreachable, misconfigured: it never left. unknown: it left, and no reply came by the
  // deadline, before the connection broke, or before `stop`. An error of the server's is an Answer.
  Task<Result<Answer>> call(std::string command, Deadline deadline, std::stop_token stop = {});
  // Several at once, in one write; one outcome each, in order.
  Task<std::vector<Result<Answer>>> call_all(std::vector<std::string> commands, Deadline deadline,
                                             std::stop_token stop = {});

  // Begins to open it, if it is not open; nobody has to wait for it.
  void begin_to_open();
  // Opens it, if it is not open.
  Task<Result<void>> open(Deadline deadline, std::stop_token stop = {});
  bool connected() const { return stream_ && ready_; }
  // Another one after each reconnection: WAIT, for instance, is about what went before it on the
  // same connection.
  std::uint64_t generation() const { return generation_; }
  // True if it cannot be opened, or has left a call unanswered for `patience`. False before the
  // first try: nobody knows yet; and while it is only we who are slow.
  bool unresponsive(Duration patience);
  // Where it is, or was last.
  const Endpoint& endpoint() const { return endpoint_; }
  // Closes it: calls under way become unknown, the next one opens it anew.
  void drop(const std::string& why);

 private:
  // A call that waits for its reply. Lives in its caller's coroutine; what it sent stays
  // when the caller has left.
  struct Pending {
    Pending(Connection& connection, const std::string& command);
    ~Pending();
    Connection& owner;
    std::uint64_t number;
    BootTime sent_at;
    Event done;
    bool settled = false;
    Result<Answer> outcome;
  };

  Task<Result<void>> try_to_open();
  Task<Result<void>> log_in(Deadline deadline);
  void on_bytes(std::string_view bytes) override;
  void on_closed(const std::string& why) override;
  bool expects_answer() const override { return !in_flight_.empty(); }
  void on_reply(Reply reply);
  // After a call timed out: ends a connection that says nothing at all.
  void give_up_if_silent(BootTime sent_at);
  // When the oldest call was sent that has no answer.
  std::optional<BootTime> oldest_sent() const;
  // The opening has failed.
  void clear();
  Failure failed(Code code, const std::string& why) const;

  Runtime& runtime_;
  ConnectionSettings settings_;
  Locate where_;
  Endpoint endpoint_;
  std::unique_ptr<ReplyParser> parser_;
  std::unique_ptr<Stream> stream_;
  bool ready_ = false;
  bool spoke_unasked_ = false;
  bool closed_ = false;  // the stream ended, perhaps before we had it
  std::string why_closed_;
  std::uint64_t generation_ = 0;
  Silence silence_;
  struct InFlight {
    Pending* caller;  // null if it has left
    BootTime sent_at;
  };
  std::deque<InFlight> in_flight_;
  std::uint64_t first_in_flight_ = 0;  // the number of in_flight_.front()
  Reopening reopening_;                // Last: its task ends before what it uses.
};

// How an error reply reads to a user of the lock.
Failure failure_of(const Reply& error, const Endpoint& server);

}  // namespace holdfast::internal::redis
