// Monitor: looks at every engine again and again, and tells what changed: to the page, to whoever listens to events, to
// the history. It looks each second while somebody watches, else every five; less often where one look takes long.
//
// An engine that does not answer holds up nobody but itself.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "deadlock_watch.h"
#include "seen_lock.h"
#include "serve/broadcast.h"
#include "serve/engines.h"
#include "serve/history.h"

namespace holdfast::cli::serve {

struct ContentionPoint {
  long long at_ms = 0;
  std::size_t locks = 0;
  std::size_t waiters = 0;
  long long longest_wait_ms = 0;
};

// One engine, as it was last seen.
struct Watched {
  ServedEngine* engine = nullptr;
  std::unordered_map<std::string, SeenLock> locks;  // by the names' bytes
  std::size_t waiters = 0;
  std::optional<Failure> failure{};  // of the last look
  bool looked = false;
  std::chrono::steady_clock::time_point at{};  // of the last look that succeeded
  std::chrono::steady_clock::duration took{};  // the last look
  std::deque<ContentionPoint> points{};
  std::string told{};  // what was last said of the engine
  std::unique_ptr<net::steady_timer> timer{};
};

class Monitor {
 public:
  Monitor(net::io_context& context, const Engines& engines, History& history, bool read_only);

  void start();
  void stop();

  Awaitable<Response> feed(Request request);
  Awaitable<Response> events(Request request);
  Awaitable<Response> history_of(Request request);
  Awaitable<Response> contention(Request request);
  Awaitable<Response> deadlocks(Request request);
  Awaitable<Response> engines_of(Request request);

  const std::vector<std::unique_ptr<Watched>>& watched() const { return watched_; }
  const DeadlockWatch& deadlock_watch() const { return deadlocks_; }

 private:
  Awaitable<void> watch(Watched& watched);
  void update(Watched& watched, const std::vector<LockInfo>& locks);
  void measure(Watched& watched, long long now_ms);
  void tell_engines();
  Json engine_json(const Watched& watched) const;
  Json engines_json() const;
  Awaitable<bool> tell_all(EventSink& sink);

  net::io_context& context_;
  const Engines& engines_;
  History& history_;
  const bool read_only_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Watched>> watched_;
  DeadlockWatch deadlocks_;
  Broadcast feed_;
  Broadcast events_;
};

}  // namespace holdfast::cli::serve
