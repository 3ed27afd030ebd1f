// Voter: one node of a quorum. Electorate: all of them. A store must offer this so that the
// quorum engine can make one lock of N independent ones. Inside the loop only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engines/quorum/ballot.h"
#include "holdfast/examination.h"

namespace holdfast::internal::quorum {

// A node's answer about a hold.
struct Standing {
  enum class Kind {
    held,  // and its time begins anew
    free,  // nobody has the node's word, and nobody had it since
    lost,  // it is not this claim's any more
  };
  Kind kind = Kind::lost;
  BootTime sent_at{};
};

class Electorate;

class Voter {
 public:
  virtual ~Voter() = default;

  // For people.
  virtual std::string display() const = 0;

  // False if it has left questions unanswered for too long, or cannot be reached: asking it would
  // only cost time. It is looked after all the same, and counts again when it answers.
  virtual bool responsive() = 0;
  // Connects, if need be.
  virtual Task<Result<void>> ready(Deadline deadline) = 0;

  // All below ask at once or not at all: a node that is not ready is unreachable. The requests
  // of one caller arrive at a node in their order.

  // Takes the node's word if it is free or the claim's own, and accepts the token if it is higher
  // than any before. With a ticket, and if it is busy, the claim stands in the node's line.
  virtual Task<Ballot> vote(const Claim& claim, const Proposal& proposal, Deadline deadline) = 0;
  // Accepts another token, if the word is still the claim's.
  virtual Task<Ballot> fence(const Claim& claim, const Proposal& proposal, Deadline deadline) = 0;
  // One outcome per hold, in order.
  virtual Task<std::vector<Result<Standing>>> renew(std::vector<Hold> holds, Deadline deadline) = 0;
  // How a claim gives the word back.
  struct Return {
    Ticket ticket;          // with one it stays in the line, and may be the next to be served
    bool was_free = false;  // nobody seemed to wait for it
    // Votes of later attempts stay: the request may have been on its way for long.
    std::uint32_t attempt = UINT32_MAX;
  };
  // True if the word was the claim's.
  virtual Task<Result<bool>> release(const Claim& claim, const Return& how, Deadline deadline) = 0;
  // Frees the word if it was locked with this token.
  virtual Task<Result<bool>> evict(const Name& name, Token token, Deadline deadline) = 0;
  // The lock as this node knows it; last_token is the highest that it accepted.
  virtual Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) = 0;
  // Names that begin with `prefix` and that the node may know something of.
  virtual Task<Result<std::vector<Name>>> names(const std::string& prefix, Deadline deadline) = 0;

  // A claim in this node's queue.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // The node keeps its word for the claim, for a moment: it is its turn to ask. Taking it is for
    // once.
    virtual bool has_turn() const = 0;
    virtual bool take_turn() = 0;
  };
  // Makes sure that the node can tell us something.
  virtual Task<Result<void>> listen(Deadline deadline, std::stop_token stop) = 0;
  virtual bool listening() const = 0;
  // `told` is set when it is the claim's turn, or when there is another reason to look. Null where
  // nodes tell nothing: then one has to ask again and again.
  virtual std::unique_ptr<Waiter> enqueue(const Claim& claim, Event& told) = 0;
  // A client of another kind has the word: has the node tell when it is gone. False if it cannot.
  virtual Task<bool> watch(const Name& name, Deadline deadline) = 0;

  // The facts about this node. The default knows nothing.
  virtual Task<Result<Examination>> examine(Deadline deadline);

  virtual void stop() = 0;
};

// All nodes as one: the findings of each, with its name. They do not lower the guarantees: a quorum is made for bad nodes.
// unreachable if fewer than a majority answer.
Task<Result<Examination>> examine_all(Electorate& electorate, Deadline deadline);

class Electorate {
 public:
  virtual ~Electorate() = default;

  virtual const Guarantees& guarantees() const = 0;
  virtual std::size_t size() const = 0;
  virtual Voter& voter(std::size_t index) = 0;

  // False if open() must come first.
  virtual bool ready_to_vote() const { return true; }
  // The era in which to vote.
  virtual Era era() const { return {}; }
  // No token up to this one may be proposed.
  virtual std::uint64_t floor() const { return 0; }
  // Whether too few nodes vote, and enough will do so again by themselves: worth waiting for.
  virtual bool recovering() const { return false; }
  // How the nodes are, for people.
  virtual std::string state() const { return {}; }
  // Why no vote may be counted at all: the same server twice, for instance.
  virtual std::optional<Failure> problem() const { return std::nullopt; }
  // How long a vote surely lasts that was asked to last so long.
  virtual Duration sure_ttl(Duration ttl) const { return ttl; }
  // Why there can be no such lock.
  virtual std::optional<Failure> refuses(const Claim&) const { return std::nullopt; }
  // Nodes said that they do not vote. Does what can be done at once; true if asking again may help.
  virtual Task<Result<bool>> open(Duration ttl, Deadline deadline) = 0;
  // The same for nodes that were not needed; in the background, and not too often.
  virtual void look_after() {}
  virtual void stop() {}
};

// The nodes that answer. If they are no majority, all: those who were silent cost no time then, and it
// may be that we were only too busy to hear them.
std::vector<std::size_t> nodes_to_ask(Electorate& electorate);

struct QuorumOptions {
  Duration node_timeout = std::chrono::milliseconds(250);
  Duration request_timeout = std::chrono::seconds(5);
  bool collect_all = false;  // wait for all nodes, not for a majority only
};

// An engine over all of them.
std::unique_ptr<Engine> make_quorum_engine(Runtime& runtime, std::unique_ptr<Electorate> electorate,
                                           const QuorumOptions& options);

}  // namespace holdfast::internal::quorum
