// JobsServer: a lock, records and clocks in memory, for several clients, with faults on every request: what the protocol
// of once.h makes of a server, a network and a machine that fail between any two of its steps.
//
//   request  executed  answered
//   refuse   no        unreachable
//   lost     no        unknown
//   late     yes       unknown: the reply was lost
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "holdfast/holdfast.h"

namespace holdfast::core_tests {

enum class Fault { none, refuse, lost, late };
enum class Ask { acquire, renew, release, read, swap, clock };

class JobsServer {
 public:
  // Of each request of one client, before it is executed, outside the lock of this object.
  using Faults = std::function<Fault(Ask)>;

  std::map<std::string, std::string> records;
  std::optional<WallTime> clock;  // none: it has no clock; then machines have theirs

  std::optional<std::string> record(const std::string& name) {
    const std::scoped_lock guard(mutex_);
    const auto found = records.find(name);
    return found == records.end() ? std::optional<std::string>() : found->second;
  }
  // The lock is somebody else's business now: its ttl is over, or `holdfast break`.
  void take_lock_away() {
    const std::scoped_lock guard(mutex_);
    holder_.reset();
  }
  bool is_locked() {
    const std::scoped_lock guard(mutex_);
    return holder_.has_value();
  }

 private:
  friend class JobsEngine;
  std::mutex mutex_;
  std::optional<ClaimId> holder_;
  std::uint64_t tokens_ = 0;
};

// One machine's way to the server. `ahead`: of its own clock, where the server has none.
class JobsEngine final : public holdfast::Engine {
 public:
  JobsEngine(Runtime& runtime, JobsServer& server, JobsServer::Faults& faults,
             const std::optional<WallTime>& own_clock)
      : holdfast::Engine(runtime), server_(server), faults_(faults), own_clock_(own_clock) {
    guarantees_.engine = "jobs";
    guarantees_.recipe = "played";
    guarantees_.records = true;
  }

  const Guarantees& guarantees() const override { return guarantees_; }

  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override {
    for (;;) {
      std::optional<Grant> grant;
      const Result<bool> asked = ask<bool>(Ask::acquire, [&] {
        if (server_.holder_ && *server_.holder_ != claim.id) return false;
        if (!server_.holder_) ++server_.tokens_;
        server_.holder_ = claim.id;
        grant = Grant{Token(server_.tokens_), runtime().now(), claim.ttl};
        return true;
      });
      if (!asked) co_return asked.failure();
      if (*asked) co_return *grant;
      if (!wait.queue || wait.deadline.passed(runtime().now())) {
        co_return Failure::busy(Busy{.holder = "played"});
      }
      const BootTime again = runtime().now() + std::chrono::milliseconds(1);
      if (co_await sleep_until(runtime(), again, wait.stop) == Woken::cancelled) {
        co_return Failure(Code::cancelled, "played");
      }
    }
  }
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline) override {
    std::vector<Result<Grant>> outcomes;
    for (const Hold& hold : holds) {
      const Result<bool> asked =
          ask<bool>(Ask::renew, [&] { return server_.holder_ == hold.claim.id; });
      if (!asked) {
        outcomes.emplace_back(asked.failure());
      } else if (*asked) {
        outcomes.emplace_back(Grant{hold.token, runtime().now(), hold.claim.ttl});
      } else {
        outcomes.emplace_back(Failure(Code::not_held, "played: not yours"));
      }
    }
    co_return outcomes;
  }
  Task<Result<bool>> release(const Claim& claim, Deadline) override {
    co_return ask<bool>(Ask::release, [&] {
      if (server_.holder_ != claim.id) return false;
      server_.holder_.reset();
      return true;
    });
  }
  Task<Result<void>> detach(const Hold&, Deadline) override { co_return Result<void>(); }
  Task<Result<std::vector<LockInfo>>> list(const std::string&, Deadline) override {
    co_return std::vector<LockInfo>();
  }
  Task<Result<LockInfo>> inspect(const Name& name, Deadline) override {
    LockInfo info{.name = name};
    co_return info;
  }
  Task<Result<void>> evict(const Name&, Token, Deadline) override { co_return Result<void>(); }

  Task<Result<std::optional<std::string>>> read_record(const Name& name, Deadline) override {
    using Value = std::optional<std::string>;
    co_return ask<Value>(Ask::read, [&] {
      const auto found = server_.records.find(name.bytes());
      return found == server_.records.end() ? Value() : Value(found->second);
    });
  }
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline) override {
    co_return ask<bool>(Ask::swap, [&] {
      const auto found = server_.records.find(name.bytes());
      const std::optional<std::string> now =
          found == server_.records.end() ? std::optional<std::string>() : found->second;
      if (now == value) return true;
      if (now != expected) return false;
      if (value) {
        server_.records[name.bytes()] = *value;
      } else {
        server_.records.erase(name.bytes());
      }
      return true;
    });
  }
  // A clock of the machine's own is told as if it were the server's: what decides is the same.
  Task<Result<std::optional<WallTime>>> server_time(Deadline) override {
    co_return ask<std::optional<WallTime>>(Ask::clock,
                                           [&] { return own_clock_ ? own_clock_ : server_.clock; });
  }

 private:
  template <class T, class F>
  Result<T> ask(Ask what, F execute) {
    const Fault fault = faults_ ? faults_(what) : Fault::none;
    if (fault == Fault::refuse) return Failure(Code::unreachable, "played: nobody is there");
    if (fault == Fault::lost) return Failure(Code::unknown, "played: the request was lost");
    const std::scoped_lock guard(server_.mutex_);
    T answer = execute();
    if (fault == Fault::late) return Failure(Code::unknown, "played: the reply was lost");
    return answer;
  }

  JobsServer& server_;
  JobsServer::Faults& faults_;
  const std::optional<WallTime>& own_clock_;
  Guarantees guarantees_;
};

// A machine that shares the job. Its own clock, if it is set, decides instead of the server's.
class Machine {
 public:
  Machine(JobsServer& server, const std::string& label)
      : client(Client::over(
                   [&](Runtime& runtime) -> Result<std::unique_ptr<holdfast::Engine>> {
                     return std::unique_ptr<holdfast::Engine>(
                         std::make_unique<JobsEngine>(runtime, server, faults, own_clock));
                   },
                   {.label = label, .release_timeout = std::chrono::milliseconds(20)})
                   .value()) {}

  // Change them between calls only.
  JobsServer::Faults faults;
  std::optional<WallTime> own_clock;
  Client client;
};

}  // namespace holdfast::core_tests
