// Probe: a client whose engine and runtime a test can reach, and in whose way it can put things.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "holdfast/holdfast.h"

namespace holdfast::contract {

// Passes everything on to the true engine, and loses replies as a test wants: the request is
// executed and the caller is told `unknown`.
class LossyEngine final : public Engine {
 public:
  LossyEngine(Runtime& runtime, std::unique_ptr<Engine> inner);

  int lose_acquire_replies = 0;
  int lose_renew_replies = 0;
  int lose_release_replies = 0;
  int lose_releases = 0;  // not executed either
  int lose_swap_replies = 0;
  // The next acquire is answered `unknown` at once and executed only so much later.
  std::optional<Duration> delay_next_acquire;
  int acquires = 0;
  int renewals = 0;
  int releases = 0;

  const Guarantees& guarantees() const override { return inner_->guarantees(); }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<std::optional<std::string>>> read_record(const Name& name,
                                                       Deadline deadline) override;
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) override;
  Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                 Deadline deadline) override;
  Task<Result<std::optional<WallTime>>> server_time(Deadline deadline) override;
  Task<void> close() override;

 private:
  Task<void> acquire_later(Claim claim, Duration delay);

  std::unique_ptr<Engine> inner_;
  TaskGroup stragglers_;
};

struct Probe {
  explicit Probe(const std::string& url, ClientOptions options = {});

  // Runs `body(engine)` inside the client's loop.
  template <class F>
  void inside(F body) {
    client->run(body(*engine));
  }

  Runtime* runtime = nullptr;
  LossyEngine* engine = nullptr;
  std::optional<Client> client;
};

}  // namespace holdfast::contract
