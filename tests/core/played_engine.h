// An engine that answers as a test wants it: for what a client does with answers, not for what engines do.
#pragma once

#include <atomic>
#include <deque>
#include <functional>

#include "holdfast/holdfast.h"

namespace holdfast::core_tests {

// Shared by the test and the engine. Change what is not atomic before the client is used.
struct Script {
  std::function<Result<Grant>(const Claim&, BootTime now)> acquire =
      [](const Claim& claim, BootTime now) { return Grant{Token(1), now, claim.ttl}; };
  std::function<Result<Grant>(const Hold&, BootTime now)> renew = [](const Hold&, BootTime) {
    return Failure(Code::unreachable, "played: nobody answers");
  };
  std::atomic<int> acquires = 0;
  std::atomic<int> renewals = 0;
  std::atomic<int> releases = 0;
};

class PlayedEngine final : public Engine {
 public:
  PlayedEngine(Runtime& runtime, std::shared_ptr<Script> script)
      : Engine(runtime), script_(std::move(script)) {
    guarantees_.engine = "played";
  }

  const Guarantees& guarantees() const override { return guarantees_; }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait&) override {
    ++script_->acquires;
    co_return script_->acquire(claim, runtime().now());
  }
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline) override {
    std::vector<Result<Grant>> outcomes;
    for (const Hold& hold : holds) {
      ++script_->renewals;
      outcomes.push_back(script_->renew(hold, runtime().now()));
    }
    co_return outcomes;
  }
  Task<Result<bool>> release(const Claim&, Deadline) override {
    ++script_->releases;
    co_return true;
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

 private:
  std::shared_ptr<Script> script_;
  Guarantees guarantees_;
};

inline Client open_played(const std::shared_ptr<Script>& script, ClientOptions options = {}) {
  return Client::over(
             [&](Runtime& runtime) -> Result<std::unique_ptr<Engine>> {
               return std::unique_ptr<Engine>(std::make_unique<PlayedEngine>(runtime, script));
             },
             std::move(options))
      .value();
}

}  // namespace holdfast::core_tests
