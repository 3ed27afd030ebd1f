#include "base/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <list>
#include <mutex>
#include <system_error>

#include "base/exhausted.h"
#include "base/thread.h"

namespace holdfast::internal {

namespace {

constexpr std::size_t kThreads = 8;
// A lookup that is older is not joined: the network may be another by now.
constexpr Duration kFresh = std::chrono::seconds(10);

struct Asker final : Runnable {
  explicit Asker(Runtime& the_runtime) : runtime(the_runtime), done(the_runtime) {}
  void run() override { done.set(); }
  Runtime& runtime;
  Event done;
};

struct Lookup {
  Lookup(std::string the_host, BootTime moment) : host(std::move(the_host)), begun(moment) {}
  const std::string host;
  const BootTime begun;
  std::vector<Asker*> askers;  // guarded by the pool's mutex
  // Written by the thread before it posts the askers.
  std::string problem;
  std::vector<std::string> addresses;
};

// Blocks.
void ask_system(Lookup& lookup) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(lookup.host.c_str(), nullptr, &wanted, &found);
  if (error != 0) {
    lookup.problem = error == EAI_SYSTEM ? describe_error(errno) : gai_strerror(error);
    return;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  for (const addrinfo* one = found; one; one = one->ai_next) {
    char number[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, number, sizeof number, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    if (std::find(lookup.addresses.begin(), lookup.addresses.end(), number) ==
        lookup.addresses.end()) {
      lookup.addresses.emplace_back(number);
    }
  }
  if (lookup.addresses.empty()) lookup.problem = "it has no address";
}

}  // namespace

// The lookups of one client. Outlives the client for as long as a lookup hangs.
class Resolver::Pool : public std::enable_shared_from_this<Pool> {
 public:
  // Throws std::system_error if there is no thread to do it.
  std::shared_ptr<Lookup> join(const std::string& host, Asker& asker) {
    const BootTime now = asker.runtime.now();
    const std::lock_guard lock(mutex_);
    for (const auto& lookup : under_way_) {
      if (lookup->host != host || now - lookup->begun > kFresh) continue;
      lookup->askers.push_back(&asker);
      return lookup;
    }
    auto lookup = std::make_shared<Lookup>(host, now);
    lookup->askers.push_back(&asker);
    under_way_.push_back(lookup);
    waiting_.push_back(lookup);
    if (threads_ < kThreads) add_thread(*lookup);
    return lookup;
  }

  // Returns when nobody will post the asker any more.
  void leave(Lookup& lookup, Asker& asker) {
    {
      const std::lock_guard lock(mutex_);
      std::erase(lookup.askers, &asker);
    }
    asker.runtime.withdraw(asker);
  }

 private:
  void add_thread(Lookup& lookup) {
    ++threads_;
    try {
      start_thread([pool = shared_from_this()] { pool->work(); }).detach();
    } catch (...) {
      // Another thread does it, if there is one.
      if (--threads_ > 0) return;
      waiting_.pop_back();
      forget(lookup);
      throw;
    }
  }

  void forget(const Lookup& lookup) {
    under_way_.remove_if([&](const auto& other) { return other.get() == &lookup; });
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) {
      const std::shared_ptr<Lookup> lookup = waiting_.front();
      waiting_.pop_front();
      if (!lookup->askers.empty()) {
        lock.unlock();
        try {
          ask_system(*lookup);
        } catch (const std::exception& problem) {
          lookup->problem = problem.what();
        }
        lock.lock();
      }
      forget(*lookup);
      // Under the mutex: who is still listed has not left, so its runtime is there.
      for (Asker* asker : lookup->askers) asker->runtime.post(*asker);
      lookup->askers.clear();
    }
    --threads_;
  }

  std::mutex mutex_;  // guards all below
  std::list<std::shared_ptr<Lookup>> under_way_;
  std::deque<std::shared_ptr<Lookup>> waiting_;  // of these, those without a thread
  std::size_t threads_ = 0;
};

Resolver::Resolver() : pool_(std::make_shared<Pool>()) {}

Task<Result<std::vector<std::string>>> Resolver::look_up(Runtime& runtime, std::string host,
                                                         Deadline deadline) {
  Asker asker(runtime);
  std::shared_ptr<Lookup> lookup;
  try {
    lookup = pool_->join(host, asker);
  } catch (const std::system_error& problem) {
    co_return no_thread(problem.code().value());
  }
  struct Leaving {
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Lookup> lookup;
    Asker& asker;
    ~Leaving() { pool->leave(*lookup, asker); }
  };
  const Leaving leaving{pool_, lookup, asker};
  if (co_await asker.done.wait(deadline) != Woken::signalled) {
    co_return Failure(Code::unreachable, "its name was not resolved in time");
  }
  if (lookup->addresses.empty()) {
    co_return Failure(Code::unreachable, "its name is not known (" + lookup->problem + ")");
  }
  co_return lookup->addresses;
}

}  // namespace holdfast::internal
