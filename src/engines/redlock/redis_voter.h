// RedisVoter: one independent Redis master as a node of the electorate. Inside the loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engines/quorum/voter.h"
#include "engines/redis/node.h"
#include "engines/redis/settings.h"
#include "engines/redlock/marker.h"
#include "engines/redlock/scripts.h"

namespace holdfast::internal::redlock {

// The scripts, and the digests under which all nodes know them.
struct Scripts {
  redis::Script take{take_source(), {}};
  redis::Script give{give_source(), {}};
  redis::Script vote{vote_source(), {}};
  redis::Script fence{fence_source(), {}};
  redis::Script renew{renew_source(), {}};
  redis::Script release{release_source(), {}};
  redis::Script evict{evict_source(), {}};
  redis::Script inspect{inspect_source(), {}};
  redis::Script look{look_source(), {}};
  redis::Script found{found_source(), {}};
  redis::Script raise{raise_source(), {}};
  redis::Script mark{mark_source(), {}};
  redis::Script join{join_source(), {}};
  redis::Script change{change_source(), {}};
  redis::Script adopt{adopt_source(), {}};
};

// How a server identifies itself when a connection to it is opened.
struct Identity {
  std::string run_id;
  std::string role;         // "master"
  std::string mode;         // "standalone"
  bool keeps_data = false;  // it has an append-only file
  std::string evicts;       // the policy of one that throws keys away; else empty

  static Identity from(const std::string& info);
};

class RedisVoter final : public quorum::Voter {
 public:
  RedisVoter(Runtime& runtime, const redis::Settings& settings, Scripts& scripts,
             Duration node_timeout, std::function<void()> on_identity);

  std::string display() const override { return "Redis at " + endpoint_.display(); }
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
  Task<Result<void>> listen(Deadline deadline, std::stop_token stop) override;
  bool listening() const override { return node_->listening(); }
  std::unique_ptr<Waiter> enqueue(const Claim& claim, Event& told) override;
  Task<bool> watch(const Name& name, Deadline deadline) override;
  Task<Result<Examination>> examine(Deadline deadline) override;
  void stop() override { node_->stop(); }

  const Identity& identity() const { return identity_; }
  const Endpoint& endpoint() const { return endpoint_; }

  // ---- Its part in the electorate -------------------------------------------------------------

  // As last seen.
  const Marker& marker() const { return marker_; }
  // The state of the marker in the process that answers: `restarted` if another process wrote it, whatever
  // it says, and whatever the server is set to. (A node that was restarted while it was being founded has
  // never voted: blank.)
  Marker::State state() const;
  bool votes() const { return state() == Marker::State::open; }
  // It does not vote, but was open before, in this process or in another.
  bool remembers() const { return !votes() && marker_.remembers(); }
  // Why it does not vote and when it will, for people: "has restarted and votes again in 43 s".
  std::string absence() const;
  bool marker_known() const { return marker_.state != Marker::State::unseen; }
  // How long a node that is joining is still silent, as last seen; 0 if it may be opened.
  Duration silent_for() const;
  // The node's own clock, as last seen.
  std::uint64_t clock_us() const { return clock_us_; }
  // Runs one of the scripts about the marker, and adds the run id to its arguments. REQUIRES: ready.
  Task<Result<void>> tend(redis::Script& script, redis::Words arguments, Deadline deadline);

  // The highest token accepted at this node, by the key of its fence.
  using Fences = std::vector<std::pair<std::string, std::uint64_t>>;
  Task<Result<Fences>> fences(Deadline deadline);
  // Raises fences, if the marker is still that one.
  Task<Result<void>> adopt(const Marker& marker, Fences fences, Deadline deadline);
  // True for one client at a time.
  Task<Result<bool>> claim_finish(Deadline deadline);

 private:
  class QueuedWaiter;

  redis::Keys keys_of(const Name& name) const {
    return redis::Keys::of_vote(prefix_ + name.bytes(), marker_key_);
  }
  // The short ways; nothing if more has to be asked.
  Task<std::optional<quorum::Ballot>> take(const Claim& claim, const quorum::Proposal& proposal,
                                           const redis::Keys& keys, Deadline deadline);
  Task<std::optional<Result<bool>>> give(const Claim& claim, const Return& how,
                                         const redis::Keys& keys, Deadline deadline);
  // Where and how a claim is to be told of its turn.
  std::string queue_entry_of(const Claim& claim) const;
  // For a script.
  std::string arrival_of(const quorum::Ticket& ticket) const;
  Task<Result<redis::Answer>> ask(redis::Script& script, const redis::Keys& keys,
                                  redis::Words arguments, Deadline deadline,
                                  std::size_t key_count = SIZE_MAX);
  // `connection`: the generation on which it was asked.
  quorum::Ballot ballot_of(const Result<redis::Answer>& answer, std::uint64_t connection);
  quorum::Ballot closed() const;  // by its marker
  quorum::Ballot nonsense();
  Failure no_marker() const;
  bool take_marker(const std::string& text);
  std::optional<Failure> unfit() const;
  // A vote must be given by the process that the marker names. A connection ends with the process, so
  // it is enough to know that the answer came on the connection on which the run id was read.
  bool knows_process() const { return identified_on_ == node_->connection().generation(); }

  Runtime& runtime_;
  Endpoint endpoint_;
  std::string prefix_;
  std::string marker_key_;
  Scripts& scripts_;
  Duration node_timeout_;
  Identity identity_;
  std::uint64_t identified_on_ = UINT64_MAX;  // the generation of the connection
  Marker marker_;
  Duration silent_for_{};
  BootTime seen_at_{};
  std::uint64_t clock_us_ = 0;
  std::unique_ptr<redis::Node> node_;
};

}  // namespace holdfast::internal::redlock
