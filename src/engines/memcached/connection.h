// Connection: one connection to a memcached server, shared by all calls of a client. Inside the loop only.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "engines/memcached/reply.h"
#include "engines/memcached/settings.h"
#include "holdfast/runtime.h"
#include "wire/pipelined_connection.h"

namespace holdfast::internal::memcached {

// One reply for each command of a call.
struct Answers {
  std::vector<Reply> replies;
  BootTime sent_at;
  std::uint64_t generation = 0;  // of the connection, see below
};

class Connection final : public PipelinedConnection {
 public:
  // A cas is worth nothing on another connection than the one it was read on: a server that was restarted counts
  // from 1 again, and gives the same numbers to other items. See generation().
  Connection(Runtime& runtime, const Settings& settings);
  ~Connection() { abandon(); }

  // Sends `commands`, which are answered by `count` replies, in one write.
  // unreachable, misconfigured: they never left. unknown: they left, and not all the replies came
  // by the deadline, before the connection broke, or before `stop`. An error of the server's is a
  // Reply.
  Task<Result<Answers>> call(std::string commands, std::size_t count, Deadline deadline,
                             std::stop_token stop = {});

  // "1.6.18", as the server said when it was last connected to.
  const std::string& version() const { return version_; }
  // How an error reads to a user of the lock; the observer hears of it. If the server did not understand us, later
  // replies could be taken for the answers to other commands: then the connection is dropped.
  Failure failure_of(const Reply& reply);

 private:
  struct Pending : Call {
    Pending(Connection& connection, std::size_t count);
    bool broken = false;
    Answers answers;
  };

  Task<Result<Endpoint>> prepare(Deadline deadline) override;
  Task<Result<void>> greet(Deadline deadline) override;
  void break_calls(const std::string& why) override;
  void on_bytes(std::string_view bytes) override;
  void on_reply(Reply&& reply);
  Failure read_failure(const Reply& reply);

  const Settings settings_;
  ReplyParser parser_;
  std::string version_;
  bool spoke_unasked_ = false;
};

}  // namespace holdfast::internal::memcached
