// Connection: one connection to a memcached server, shared by all calls of a client. Calls are
// pipelined; one that gave up keeps its turn, so that its replies never reach another. Opened on
// demand, and again after it broke. Inside the loop only.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engines/memcached/reply.h"
#include "engines/memcached/settings.h"
#include "holdfast/runtime.h"
#include "wire/reopening.h"
#include "wire/silence.h"
#include "wire/stream.h"

namespace holdfast::internal::memcached {

// One reply for each command of a call.
struct Answers {
  std::vector<Reply> replies;
  BootTime sent_at;
  std::uint64_t generation = 0;  // of the connection, see below
};

class Connection final : private StreamListener {
 public:
  Connection(Runtime& runtime, const Settings& settings);
  ~Connection();

  // Sends `commands`, which are answered by `count` replies, in one write.
  // unreachable, misconfigured: they never left. unknown: they left, and not all the replies came
  // by the deadline, before the connection broke, or before `stop`. An error of the server's is a
  // Reply.
  Task<Result<Answers>> call(std::string commands, std::size_t count, Deadline deadline,
                             std::stop_token stop = {});

  // Begins to open it, if it is not open; nobody has to wait for it.
  void begin_to_open();
  // Opens it, if it is not open.
  Task<Result<void>> open(Deadline deadline, std::stop_token stop = {});
  // True if it cannot be opened, or has left a call unanswered for `patience`. False before the
  // first try: nobody knows yet; and while it is only we who are slow.
  bool unresponsive(Duration patience);
  bool connected() const { return stream_ && ready_; }
  // Another one after each reconnection. A cas is worth nothing on another connection than the one
  // it was read on: a server that was restarted counts from 1 again, and gives the same numbers to
  // other items. While connected() and generation() are what they were, a call goes to the same
  // server process.
  std::uint64_t generation() const { return generation_; }
  const Endpoint& endpoint() const { return settings_.endpoint; }
  // "1.6.18", as the server said when it was last connected to.
  const std::string& version() const { return version_; }
  // Closes it: calls under way become unknown, the next one opens it anew.
  void drop(const std::string& why);

  Failure failed(Code code, const std::string& why) const;
  // How an error reads to a user of the lock. If the server did not understand us, later replies
  // could be taken for the answers to other commands: then the connection is dropped.
  Failure failure_of(const Reply& reply);

 private:
  // A call that waits for its replies. Lives in its caller's coroutine; what it sent stays
  // when the caller has left.
  struct Pending {
    Pending(Connection& connection, std::size_t count);
    ~Pending();
    Connection& owner;
    std::uint64_t number;
    Event done;
    bool settled = false;
    bool broken = false;
    Answers answers;
  };
  struct InFlight {
    Pending* caller;  // null if it has left
    std::size_t missing;
    BootTime sent_at;
  };

  Task<Result<void>> try_to_open();
  Task<Result<void>> greet(Deadline deadline);
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
  void forget_pending();

  Runtime& runtime_;
  const Settings settings_;
  ReplyParser parser_;
  std::unique_ptr<Stream> stream_;
  std::string version_;
  bool ready_ = false;
  bool spoke_unasked_ = false;
  bool closed_ = false;  // the stream ended, perhaps before we had it
  std::string why_closed_;
  std::uint64_t generation_ = 0;
  Silence silence_;
  std::deque<InFlight> in_flight_;
  std::uint64_t first_pending_ = 0;  // the number of in_flight_.front()
  Reopening reopening_;              // Last: its task ends before what it uses.
};

}  // namespace holdfast::internal::memcached
