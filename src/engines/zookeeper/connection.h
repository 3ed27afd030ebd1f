// Connection: one TCP connection to a ZooKeeper server, from its greeting to its end. Requests are
// pipelined; one that gave up keeps its turn, so that its reply never reaches another. A session
// outlives it (session.h). Inside the loop only.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engines/zookeeper/packets.h"
#include "holdfast/runtime.h"
#include "wire/stream.h"

namespace holdfast::internal::zookeeper {

// One reply for each request of a call.
struct Answers {
  std::vector<Reply> replies;
  BootTime sent_at;
  std::uint64_t incarnation = 0;  // of the session, see session.h
  bool repeated = false;          // an earlier attempt may have been executed as well
};

class ConnectionListener {
 public:
  virtual void on_event(const WatchEvent& event) = 0;
  // A request, or a ping, is answered. `write`: by a majority; `zxid`: how far the server is.
  virtual void on_answered(BootTime sent_at, bool write, std::int64_t zxid) = 0;
  // Comes at most once, and nothing after it. It may destroy the connection.
  virtual void on_closed(const std::string& why) = 0;

 protected:
  ~ConnectionListener() = default;
};

class Connection final : private StreamListener {
 public:
  Connection(Runtime& runtime, Endpoint endpoint, ConnectionListener& listener)
      : runtime_(runtime), endpoint_(std::move(endpoint)), listener_(listener), moved_(runtime) {}
  ~Connection();

  struct Opened {
    Welcome welcome;
    BootTime sent_at;  // when it was greeted
  };
  // Connects, greets and logs in (`login` is a packet, or empty). The listener hears nothing if
  // it fails.
  Task<Result<Opened>> open(std::shared_ptr<const TlsContext> tls, Greeting greeting,
                            std::string login, Deadline deadline);

  // unknown: they left, and not all the replies came by the deadline, before the connection broke,
  // or before `stop`. An error of the server's is a Reply. REQUIRES: it is open. It may be
  // destroyed meanwhile.
  Task<Result<Answers>> call(Requests requests, Deadline deadline, std::stop_token stop);
  void ping();
  // A packet whose reply nobody waits for.
  void send_special(const std::string& packet) { stream_->send(packet); }

  const Endpoint& endpoint() const { return endpoint_; }
  // There is somebody at that address.
  bool reached() const { return reached_; }
  // It hung up without a welcome: it has no quorum, or knows less than our greeting says that we do.
  bool turned_away() const { return reached_ && closed_ && !welcome_; }
  // When the oldest request, or ping, was sent that has no answer.
  std::optional<BootTime> oldest_unanswered() const;
  BootTime last_sent() const { return last_sent_; }

 private:
  // A call that waits for its replies. Lives in its caller's coroutine.
  struct Pending {
    Pending(Runtime& runtime, std::size_t count) : done(runtime), missing(count) {}
    Event done;
    std::size_t missing;
    bool broken = false;
    std::string why;
    Answers answers;
  };
  struct InFlight {
    std::shared_ptr<Pending> caller;  // shared: either may go first
    Op op;
    std::int32_t xid;
    BootTime sent_at;
  };

  void on_bytes(std::string_view bytes) override;
  void on_closed(const std::string& why) override;
  // False if it makes no sense.
  bool on_packet(std::string_view packet);
  bool on_reply(const ReplyHeader& header);
  void break_calls(const std::string& why);

  Runtime& runtime_;
  const Endpoint endpoint_;
  ConnectionListener& listener_;
  std::unique_ptr<Stream> stream_;
  PacketCutter cutter_;
  bool reached_ = false;
  bool open_ = false;
  bool nonsense_ = false;
  Event moved_;  // the welcome came, or the connection ended
  std::optional<Welcome> welcome_;
  bool refused_ = false;  // the login
  bool closed_ = false;
  std::string why_closed_;
  std::int32_t next_xid_ = 1;
  BootTime last_sent_{};
  std::deque<InFlight> in_flight_;
  std::deque<BootTime> pings_;  // when those were sent that have no answer
};

}  // namespace holdfast::internal::zookeeper
