// ServerReporter: tells a client's observer (Observer::on_server) of connections and of what servers refuse. The wire
// tells it of every connection; it turns them into what became of each server, in a bounded number of events:
//
//              opened                          lost, failed to open
//   new ──────────────► works: `connected` ─────────────────────────► broken: `disconnected`, `connect_failed`
//    │ failed to open                      ◄─────────────────────────   ▲
//    └──────────────► broken: `connect_failed`   opened: `reconnected`  │ failed to open, if that is news
//                                                                       └─ `connect_failed`
//
// Where several connections lead to a server, the second one that opens, or is lost, tells nothing new. The bounds
// are in observer.h. There is one for each client; wherever a connection is made, the Runtime leads to it, so that
// engines need not know of it. Inside the loop only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "holdfast/observer.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

class ServerReporter {
 public:
  // The same words about the same server are not repeated sooner.
  static constexpr Duration kRepeat = std::chrono::seconds(10);
  // Of one server, so many events at once, and then one for each kRefill. (Two of them may be a reconnection.)
  static constexpr int kBurst = 10;
  static constexpr Duration kRefill = std::chrono::seconds(1);
  // Addresses come and go where servers are found through others: the one not heard of for longest is forgotten.
  static constexpr std::size_t kMaxServers = 256;

  explicit ServerReporter(std::shared_ptr<Observer> observer) : observer_(std::move(observer)) {}

  // A connection works, login included.
  void opened(const std::string& server, BootTime now);
  void failed_to_open(const std::string& server, const Failure& why, BootTime now);
  // A connection that worked has ended, and not because we were done with it.
  void lost(const std::string& server, const Failure& why, BootTime now);
  // The server's own error ends a call, and is no ordinary outcome of one.
  void refused(const std::string& server, const Failure& why, BootTime now);

 private:
  struct Said {
    std::string text;
    BootTime at{};
  };
  struct Server {
    bool reached = false;  // `connected` was told
    bool broken = false;   // `disconnected` or `connect_failed` was told since it last worked
    Said failure;          // the last of each
    Said refusal;
    int budget = kBurst;
    BootTime refilled{};
    BootTime heard{};
  };

  Server& server_at(const std::string& name, BootTime now);
  static bool may_tell(Server& server, BootTime now);
  // False if the same was said a short time ago.
  static bool is_news(const Said& last, const Failure& why, BootTime now);
  void tell(ServerEventKind kind, const std::string& server, const Failure* why);

  const std::shared_ptr<Observer> observer_;
  std::map<std::string, Server> servers_;
};

// To the reporter of this runtime, if somebody listens. `server`: an address or a path, without secrets.
void report_opened(Runtime& runtime, const std::string& server);
void report_failed_to_open(Runtime& runtime, const std::string& server, const Failure& why);
void report_lost(Runtime& runtime, const std::string& server, const Failure& why);
void report_refused(Runtime& runtime, const std::string& server, const Failure& why);
// The first two, by an outcome; a call that was cancelled says nothing of the server.
template <class Outcome>
void report_opening(Runtime& runtime, const std::string& server, const Outcome& outcome) {
  if (outcome) {
    report_opened(runtime, server);
  } else if (outcome.code() != Code::cancelled) {
    report_failed_to_open(runtime, server, outcome.failure());
  }
}

}  // namespace holdfast::internal
