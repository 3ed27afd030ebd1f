// SimEngine: an engine whose server is a SimStore behind a SimNetwork. Requests and replies can be
// late, lost or doubled; a request without an answer ends as unknown.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <unordered_map>

#include "holdfast/engine.h"
#include "lab/sim_network.h"
#include "lab/sim_store.h"

namespace holdfast::lab {

class SimEngine final : public Engine {
 public:
  SimEngine(internal::SimRuntime& node, internal::SimRuntime& store_node, SimStore& store,
            SimNetwork& network, Duration request_timeout);
  ~SimEngine() override;

  // While it is not connected, nothing leaves this node.
  void set_connected(bool connected) { connected_ = connected; }

  const Guarantees& guarantees() const override { return guarantees_; }
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;

 private:
  // What the server answered, and when the question left.
  template <class T>
  struct Reply {
    T answer;
    BootTime sent_at;
  };
  // Runs `question` on the store's node and brings its answer back. Unknown if none comes.
  template <class T>
  Task<Result<Reply<T>>> call(std::function<T(SimStore&)> question, Deadline deadline);

  internal::SimRuntime& node_;
  internal::SimRuntime& store_node_;
  SimStore& store_;
  SimNetwork& network_;
  Duration request_timeout_;
  Guarantees guarantees_;
  bool connected_ = true;
  // Where answers and pushes go; they find nothing there once the call is over.
  std::uint64_t next_call_ = 0;
  std::unordered_map<std::uint64_t, std::function<void(std::any)>> calls_;
  std::unordered_map<ClaimId, Event*> waiting_;
  // Lets a message that arrives after the engine's end do nothing.
  std::shared_ptr<SimEngine*> self_;
};

}  // namespace holdfast::lab
