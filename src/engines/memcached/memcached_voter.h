// MemcachedVoter: one memcached server as a node of a quorum. It keeps no fence: an item that it
// evicts would take it along, and no command changes two items at once. So what is called a token
// here only tells grants apart. Inside the loop only.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "engines/memcached/facts.h"
#include "engines/memcached/node.h"
#include "engines/quorum/voter.h"

namespace holdfast::internal::memcached {

class MemcachedVoter final : public quorum::Voter {
 public:
  MemcachedVoter(Runtime& runtime, const Settings& settings, Duration node_timeout)
      : runtime_(runtime),
        settings_(settings),
        node_timeout_(node_timeout),
        node_(runtime, settings) {}

  std::string display() const override { return "memcached at " + settings_.endpoint.display(); }
  bool responsive() override;
  Task<Result<void>> ready(Deadline deadline) override;
  Task<quorum::Ballot> vote(const Claim& claim, const quorum::Proposal& proposal,
                            Deadline deadline) override;
  Task<quorum::Ballot> fence(const Claim& claim, const quorum::Proposal& proposal,
                             Deadline deadline) override;
  Task<std::vector<Result<quorum::Standing>>> renew(std::vector<Hold> holds,
                                                    Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, const Return& how, Deadline deadline) override;
  Task<Result<bool>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<std::vector<Name>>> names(const std::string& prefix, Deadline deadline) override;
  // Memcached tells nobody anything.
  Task<Result<void>> listen(Deadline, std::stop_token) override { co_return Result<void>(); }
  bool listening() const override { return true; }
  std::unique_ptr<Waiter> enqueue(const Claim&, Event&) override { return nullptr; }
  Task<bool> watch(const Name&, Deadline) override { co_return false; }
  Task<Result<Examination>> examine(Deadline deadline) override {
    const Result<Facts> facts = co_await ask_facts(runtime_, settings_, deadline);
    if (!facts) co_return facts.failure();
    co_return examined(*facts);
  }
  void stop() override {}

  // A claim was found here that was never brought here: another name of another node's server.
  bool is_twin() const { return twin_; }

 private:
  // A claim that voted here.
  struct Known {
    std::optional<Stamp> stamp;
    std::uint32_t attempt = 0;
  };

  Keys keys_of(const Name& name) const { return Keys(settings_.prefix, name); }
  // True if it was not the first time.
  bool bring(const ClaimId& id);
  Task<quorum::Ballot> take_up(const Claim& claim, Sight seen, const quorum::Proposal& proposal,
                               Deadline deadline);
  Task<void> renew_one(const Hold& hold, Deadline deadline, Result<quorum::Standing>& outcome);
  static quorum::Ballot failed(const Failure& why);

  Runtime& runtime_;
  const Settings settings_;
  Duration node_timeout_;
  Node node_;
  std::unordered_map<ClaimId, Known> known_;
  // Claims that were ever brought here, the last of them.
  std::unordered_set<ClaimId> brought_;
  std::deque<ClaimId> brought_in_order_;
  bool twin_ = false;
};

}  // namespace holdfast::internal::memcached
