#include "engines/memory/memory_engine.h"

#include <algorithm>
#include <unordered_map>

#include "engines/kit/expiry_look.h"
#include "engines/kit/failures.h"
#include "engines/kit/url_reader.h"
#include "engines/kit/withdrawal.h"
#include "engines/memory/memory_server.h"
#include "holdfast/examination.h"

namespace holdfast::internal {

namespace {

using Request = MemoryRequest;

class MemoryEngine final : public Engine {
 public:
  MemoryEngine(std::shared_ptr<MemoryServer> server, Runtime& runtime)
      : Engine(runtime),
        guarantees_(memory_guarantees()),
        server_(std::move(server)),
        news_(*this),
        me_(server_->enter(news_)) {}
  ~MemoryEngine() override {
    server_->leave(me_);
    runtime().withdraw(news_);
  }

  const Guarantees& guarantees() const override { return guarantees_; }
  Task<Result<Examination>> examine(Deadline deadline) override;
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<LockInfo>> watch(const Name& name, Token known, const Wait& wait) override;
  Task<Result<std::optional<std::string>>> read_record(const Name& name,
                                                       Deadline deadline) override;
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) override;
  Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                 Deadline deadline) override;
  Task<Result<std::optional<WallTime>>> server_time(Deadline deadline) override;

 private:
  // The server's news, until the loop hears of them.
  class News final : public MemoryServer::Inbox, public Runnable {
   public:
    explicit News(MemoryEngine& engine) : engine_(engine) {}
    void on_turn(const ClaimId& waiter) override {
      add({.turn = waiter, .ended = {}, .changed = {}});
    }
    void on_ended(const ClaimId& holder) override {
      add({.turn = {}, .ended = holder, .changed = {}});
    }
    void on_change(const Name& watched) override {
      add({.turn = {}, .ended = {}, .changed = watched});
    }
    void run() override;

   private:
    struct One {
      std::optional<ClaimId> turn;
      std::optional<ClaimId> ended;
      std::optional<Name> changed;
    };
    void add(One news);

    MemoryEngine& engine_;
    CheckedMutex mutex_;
    std::vector<One> all_ HOLDFAST_GUARDED_BY(mutex_);
  };
  // A claim that waits. One that is destroyed while it waits leaves the queue.
  struct Waiter {
    Waiter(MemoryEngine& the_engine, const Claim& the_claim)
        : engine(the_engine), claim(the_claim), told(the_engine.runtime()) {
      engine.waiters_.emplace(claim.id, this);
    }
    ~Waiter() {
      engine.waiters_.erase(claim.id);
      if (queued) static_cast<void>(engine.end(claim));
    }

    MemoryEngine& engine;
    const Claim& claim;
    Event told;
    bool queued = false;
  };
  struct Watch {
    Watch(MemoryEngine& the_engine, const Name& the_name)
        : engine(the_engine), name(the_name), changed(the_engine.runtime()) {
      engine.watches_.push_back(this);
      engine.server_->watch(engine.me_, name);
    }
    ~Watch() {
      std::erase(engine.watches_, this);
      engine.server_->unwatch(engine.me_, name);
    }

    MemoryEngine& engine;
    const Name& name;
    Event changed;
  };

  Result<bool> end(const Claim& claim) {
    return server_->serve(Request::release, &claim.name, [&](MemoryLocks& locks) {
      return locks.release(claim.name, claim.id, runtime().now());
    });
  }
  Failure give_up(Waiter& waiter, const Failure& why);

  const Guarantees guarantees_;
  const std::shared_ptr<MemoryServer> server_;
  std::unordered_map<ClaimId, Waiter*> waiters_;
  std::vector<Watch*> watches_;
  News news_;
  const MemoryServer::ClientNumber me_;
};

// ---- News --------------------------------------------------------------------------------------

void MemoryEngine::News::add(One news) {
  {
    const CheckedLock lock(mutex_);
    all_.push_back(std::move(news));
  }
  engine_.runtime().post(*this);
}

void MemoryEngine::News::run() {
  std::vector<One> all;
  {
    const CheckedLock lock(mutex_);
    all.swap(all_);
  }
  for (const One& news : all) {
    if (news.ended) engine_.doubt(news.ended);
    if (news.turn) {
      const auto waiter = engine_.waiters_.find(*news.turn);
      if (waiter != engine_.waiters_.end()) waiter->second->told.set();
    }
    if (!news.changed) continue;
    for (Watch* const watch : engine_.watches_) {
      if (watch->name == *news.changed) watch->changed.set();
    }
  }
}

// ---- Acquiring ---------------------------------------------------------------------------------

// Each waiter looks for itself when the holder's time is over, the first at that very moment.
Deadline next_look(const Wait& wait, const Busy& busy, BootTime now) {
  return busy.expires_in ? wait.deadline.sooner(look_after_expiry(busy, now) - kLookStagger)
                         : wait.deadline;
}

Task<Result<Grant>> MemoryEngine::acquire(const Claim& claim, const Wait& wait) {
  if (wait.stop.stop_requested()) co_return cancelled_by_caller();
  Waiter self(*this, claim);
  Busy busy;
  for (;;) {
    const BootTime now = runtime().now();
    const auto ask = [&](MemoryLocks& locks) { return locks.acquire(me_, claim, wait.queue, now); };
    Result<table::Turn::Answer> answer = server_->serve(Request::acquire, &claim.name, ask);
    Deadline until = wait.deadline;
    if (answer) {
      if (const auto* given = std::get_if<table::Given>(&*answer)) {
        self.queued = false;
        co_return Grant{given->token, now, given->ttl};
      }
      if (const Failure* refused = std::get_if<Failure>(&*answer)) co_return *refused;
      busy = std::move(std::get<table::InTheWay>(*answer).busy);
      if (!wait.queue) co_return Failure::busy(std::move(busy));
      self.queued = true;
      until = next_look(wait, busy, now);
    } else if (!self.queued || answer.code() == Code::unknown) {
      self.queued = false;  // Whatever became of it, the caller takes it back.
      co_return answer.failure();
    }  // Else the server is down. It keeps the place in the queue, and tells when it is up.
    const Woken woken = co_await self.told.wait(until, wait.stop);
    self.told.reset();
    if (woken == Woken::cancelled) co_return give_up(self, cancelled_by_caller());
    if (woken == Woken::timed_out && wait.deadline.passed(runtime().now())) {
      co_return give_up(self, Failure::busy(std::move(busy)));
    }
  }
}

// Also ends a hold that was granted this very moment.
Failure MemoryEngine::give_up(Waiter& waiter, const Failure& why) {
  waiter.queued = false;
  return after_withdrawal(why, end(waiter.claim));
}

// ---- The rest ----------------------------------------------------------------------------------

Task<std::vector<Result<Grant>>> MemoryEngine::renew(std::span<const Hold> holds, Deadline) {
  const BootTime now = runtime().now();
  const auto work = [&](MemoryLocks& locks) {
    std::vector<Result<Grant>> outcomes;
    for (const Hold& hold : holds) {
      if (locks.renew(hold, now)) {
        outcomes.emplace_back(Grant{hold.token, now, hold.claim.ttl});
      } else {
        outcomes.emplace_back(no_longer_held(hold.claim.name));
      }
    }
    return outcomes;
  };
  Result<std::vector<Result<Grant>>> outcomes = server_->serve(Request::renew, nullptr, work);
  if (outcomes) co_return std::move(outcomes).value();
  co_return std::vector<Result<Grant>>(holds.size(), outcomes.failure());
}

Task<Result<bool>> MemoryEngine::release(const Claim& claim, Deadline) { co_return end(claim); }

Task<Result<void>> MemoryEngine::detach(const Hold& hold, Deadline) {
  const auto work = [&](MemoryLocks& locks) { return locks.detach(hold, runtime().now()); };
  const Result<bool> detached = server_->serve(Request::other, nullptr, work);
  if (!detached) co_return detached.failure();
  if (!*detached) co_return no_longer_held(hold.claim.name);
  co_return Result<void>();
}

Task<Result<std::vector<LockInfo>>> MemoryEngine::list(const std::string& prefix, Deadline) {
  const auto work = [&](MemoryLocks& locks) { return locks.list(prefix, runtime().now()); };
  co_return server_->serve(Request::other, nullptr, work);
}

Task<Result<LockInfo>> MemoryEngine::inspect(const Name& name, Deadline) {
  const auto work = [&](MemoryLocks& locks) { return locks.inspect(name, runtime().now()); };
  co_return server_->serve(Request::other, nullptr, work);
}

Task<Result<void>> MemoryEngine::evict(const Name& name, Token token, Deadline) {
  const auto work = [&](MemoryLocks& locks) { return locks.evict(name, token, runtime().now()); };
  const Result<bool> evicted = server_->serve(Request::other, &name, work);
  if (!evicted) co_return evicted.failure();
  if (!*evicted) co_return not_held_with(name, token);
  co_return Result<void>();
}

Task<Result<LockInfo>> MemoryEngine::watch(const Name& name, Token known, const Wait& wait) {
  Watch self(*this, name);
  for (;;) {
    const BootTime now = runtime().now();
    Result<LockInfo> info = co_await inspect(name, wait.deadline);
    if (!info) co_return info;
    Token newest;
    Deadline until = wait.deadline;
    for (const HolderInfo& holder : info->holders) {
      newest = std::max(newest, holder.token);
      if (holder.expires_in) until = until.sooner(now + *holder.expires_in);
    }
    if (newest != known) co_return info;
    if (!wait.queue || wait.deadline.passed(now)) {
      co_return Failure::busy(Busy{.holder = "the same holder as before", .token = known.value()});
    }
    const Woken woken = co_await self.changed.wait(until, wait.stop);
    self.changed.reset();
    if (woken == Woken::cancelled) co_return cancelled_by_caller();
  }
}

Task<Result<Examination>> MemoryEngine::examine(Deadline) {
  const Result<bool> up =
      server_->serve(Request::other, nullptr, [](MemoryLocks&) { return true; });
  if (!up) co_return up.failure();
  Examination found;
  found.product = "the memory of this process";
  found.server = found.product;
  found.guarantees = guarantees_;
  found.findings.push_back({Severity::note, "one-process",
                            "no other process sees these locks, and they end with this one", ""});
  co_return found;
}

// ---- Records -----------------------------------------------------------------------------------

Task<Result<std::optional<std::string>>> MemoryEngine::read_record(const Name& name, Deadline) {
  const auto work = [&](MemoryLocks& locks) { return locks.read_record(name); };
  co_return server_->serve(Request::record, nullptr, work);
}

Task<Result<bool>> MemoryEngine::swap_record(const Name& name, std::optional<std::string> expected,
                                             std::optional<std::string> value, Deadline) {
  const auto work = [&](MemoryLocks& locks) {
    return locks.swap_record(name, expected, std::move(value));
  };
  co_return server_->serve(Request::record, nullptr, work);
}

Task<Result<std::vector<Record>>> MemoryEngine::list_records(const std::string& prefix, Deadline) {
  const auto work = [&](MemoryLocks& locks) { return locks.list_records(prefix); };
  co_return server_->serve(Request::record, nullptr, work);
}

Task<Result<std::optional<WallTime>>> MemoryEngine::server_time(Deadline) {
  const auto work = [&](MemoryLocks&) { return std::optional<WallTime>(runtime().wall()); };
  co_return server_->serve(Request::other, nullptr, work);
}

}  // namespace

Guarantees memory_guarantees() {
  return Guarantees{
      .engine = "memory",
      .recipe = "table",
      .exclusion = Exclusion::linearizable,
      .token = TokenStrength::volatile_memory,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = true,
      .permit_mode = true,
      .no_permits_because = {},
      .records = true,
      .no_records_because = {},
      .min_ttl = std::chrono::milliseconds(10),
      .notes =
          "For tests, and for the threads of one process: no other process sees these locks. They "
          "and their tokens end with it.",
      .of_server = true,
      .lowered_because = {}};
}

std::unique_ptr<Engine> make_memory_engine(std::shared_ptr<MemoryServer> server, Runtime& runtime) {
  return std::make_unique<MemoryEngine>(std::move(server), runtime);
}

Result<std::unique_ptr<Engine>> open_memory_engine(const Url& url, Runtime& runtime,
                                                   const ClientOptions&) {
  UrlReader reader(
      url, "write memory:, or memory:NAME for locks that all clients of this process share");
  reader.require(!url.has_authority, "a memory URL names no host");
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  if (url.path.empty()) return make_memory_engine(std::make_shared<MemoryServer>(), runtime);
  Result<std::shared_ptr<MemoryServer>> server = MemoryServer::named(url.path);
  if (!server) return server.failure();
  return make_memory_engine(std::move(server).value(), runtime);
}

}  // namespace holdfast::internal
