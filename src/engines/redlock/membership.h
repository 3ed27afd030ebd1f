// Membership: which of the nodes may vote, and in which epoch; how they are founded, and how those
// that were restarted come back. marker.h draws the states of a node and the steps between them.
// Inside the loop only.
//
// A node that restarts may have forgotten whom it voted for and which tokens it accepted: all of it, or
// what came after the copy that it was restored from. Nothing that it is set to now tells. If it voted
// on at once, two claims could have a majority, or one token two owners. So
//   1. it does not vote: its marker is gone or names another process, and every vote compares the
//      marker. It is marked anew, so that all that follows is known to have come after the restart;
//   2. a new epoch, which nobody ever used, is written to a majority of the *other* nodes: votes that
//      are still under way from before, and that this node may have been part of, then count nowhere;
//   3. it stays silent for the longest ttl that anybody uses, so what it had voted for has ended;
//   4. it takes over the highest tokens of a majority of the others, keeps its own where they are
//      higher, drops the claims in all of them, and then votes again.
// Any client does the next step that is due; a step that is done twice does no harm. The order of
// these steps is what tests/model checks.
//
// Refounding. If too few of the others are open for step 2 (a majority restarted, or one did while
// others are down), the nodes that were open once (they remember) and those that are open still are
// counted together. If they are a majority:
//   2' they all get a new epoch e and a floor f; the open ones are raised to it, the closed ones join
//      in it. f is an hour above the clocks of the nodes: nobody votes for a token up to f, so what
//      *all* of them may have forgotten is passed, unless their clocks were set back;
//   3' as 3, by each of them;
//   4' as 4, from a majority of those with e and f, itself included.
// An empty node takes no part in it: what it remembers is nothing, and a majority of empty nodes may
// just as well be a wrong URL. Then a person decides.
//
// Invariants (docs/REDLOCK.md has the argument; tests/model refutes each when it is dropped, but I7,
// which tests/sim is for):
//   I1  A vote is counted only if it was given by the process that the marker names: the marker's run
//       id is that of the connection on which the vote was sent and answered.
//   I2  Only a mark writes a run id that was just read. Every later marker takes it from the one that
//       it replaces, by compare-and-set. So no step of a rejoin spans a restart.
//   I3  The epoch in a joining marker began after that marker's mark was seen. So the node has never
//       voted in it.
//   I4  A node opens in e only after a majority refuses all epochs before e: of the others, or (2')
//       of all, itself included; and its F is then no less than the F that each of those has.
//   I5  The F of a node that opens names no claim.
//   I6  A node accepts no token up to the floor in its marker, floors only grow, and a node that opens
//       has the highest floor of those in I4.
//   I7  No epoch that a majority once had is given to a majority that has older ones: those must have
//       forgotten that they voted in it. They all get a new one, and a floor.
//   I8  A closed node stays silent for the longest ttl that any node in reach remembers, by its own
//       clock, counted from after the mark; and anew if that clock was set back.
//
// Nodes are founded when all of them are there and none has a marker: nobody could tell a new node
// from one that lost its data, so the first client asks for all.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engines/redlock/redis_voter.h"

namespace holdfast::internal::redlock {

// Of the nodes beside one: enough to meet every majority that this one was part of.
constexpr std::size_t majority_of_others(std::size_t nodes) { return (nodes - 1) / 2 + 1; }

class Membership {
 public:
  using Voters = std::vector<std::unique_ptr<RedisVoter>>;

  struct Options {
    Duration node_timeout;
    std::int64_t usual_longest_ms;  // what a claim may have without anybody having to be told
  };
  Membership(Runtime& runtime, const Voters& voters, Scripts& scripts, const Options& options,
             std::function<void(const std::string&)> warn);

  const quorum::Era& era() const { return era_; }
  // Whether votes may be asked for in this era.
  bool established() const { return established_; }
  // Whether a node that answered is not among the voters.
  bool incomplete() const;
  // No token up to this one may be proposed.
  std::uint64_t floor() const { return floor_; }
  // Whether too few nodes vote, and enough will do so again by themselves.
  bool recovering() const;
  // For people: why nodes do not vote, and for how long.
  std::string state() const;

  // Does what can be done at once. True if a majority votes now; false if more time may help.
  Task<Result<bool>> open(Duration ttl, Deadline deadline);
  void stop() { background_.stop(); }

 private:
  using Nodes = std::vector<std::size_t>;
  // The answers of several nodes.
  struct Outlook;

  std::size_t size() const { return voters_.size(); }
  std::size_t majority() const;
  Task<void> tend(std::size_t node, redis::Script& script, redis::Words arguments,
                  Deadline deadline, bool needed, std::shared_ptr<Outlook> outlook);
  // Runs a script at each of the nodes, at the same time. Slow ones are not waited for much longer
  // than a majority, unless they are all `needed`.
  Task<Outlook> tend_each(Nodes nodes, redis::Script& script, redis::Words arguments,
                          Deadline deadline, bool needed);
  // The same; gives back those that answered.
  Task<Nodes> tend_all(Nodes nodes, redis::Script& script, redis::Words arguments,
                       Deadline deadline);
  Task<Nodes> look(Nodes nodes, Deadline deadline);
  // Changes the marker of one node, if it is still `from`. With a silence, its end is added to `to`. False if the
  // node did not answer.
  Task<bool> rewrite(std::size_t node, std::string from, std::string to, Deadline deadline,
                     std::optional<std::int64_t> silence_ms = std::nullopt);

  Task<Result<bool>> open_once(Duration ttl, Deadline deadline);
  // Enough nodes are there, but they do not agree yet.
  bool in_motion() const;
  std::optional<Failure> misfit(const Nodes& seen) const;
  std::optional<Failure> hopeless(const Nodes& seen) const;

  Task<Result<void>> found(const Nodes& seen, std::int64_t longest_ms, Deadline deadline);
  Task<void> raise(Nodes nodes, std::int64_t longest_ms, Deadline deadline);
  Task<void> establish(Nodes nodes, Deadline deadline);
  Task<void> bring_back(const Nodes& seen, const Nodes& open, Deadline deadline);
  // Marks those that were restarted.
  Task<void> mark_restarted(const Nodes& seen, Deadline deadline);
  // Where the node's clock was set back meanwhile.
  Task<void> begin_silence_anew(const Nodes& seen, Deadline deadline);
  Task<void> join(std::size_t node, Nodes open, Deadline deadline);
  Task<void> refound(const Nodes& seen, const Nodes& open, Deadline deadline);
  Task<void> begin_refounding(Nodes closed, Nodes open, Deadline deadline);
  void pass_if_forgotten(const Nodes& open);
  // Begins an epoch, and a floor, above what these nodes may have forgotten.
  quorum::Era pass_what_was_forgotten(const Nodes& nodes);
  // Opens it in the background, if its silence is over.
  void finish_if_due(std::size_t node, const Nodes& sources);
  Task<void> finish(std::size_t node, Nodes sources);
  // False if `sources` do not suffice. `floor` becomes the highest of theirs.
  Task<bool> take_over(std::size_t node, const Nodes& sources, std::uint64_t& floor,
                       Deadline deadline);
  // Whether the other refuses all epochs before that of the marker, and goes on doing so.
  bool stands_by(std::size_t other, const Marker& joining) const;
  // Of so many nodes beside the one that joins: whether that is enough.
  bool suffice(std::size_t others, const Marker& joining) const;

  void hear_of(std::size_t node);
  // Why the node's vote is missing, for people; empty if it is not.
  std::string absence_of(std::size_t node) const;
  bool votes_in_era(std::size_t node) const;
  quorum::Era new_epoch();
  std::uint64_t wall_ms() const;
  std::uint64_t nonce() { return runtime_.random() >> 11; }  // what a script can count to
  Nodes everybody() const;
  // The nodes whose last seen marker is in this state. A loop that waits looks at each state itself: it may
  // change meanwhile.
  Nodes in_state(const Nodes& nodes, Marker::State state) const;
  std::int64_t longest_ms(const Nodes& nodes) const;

  Runtime& runtime_;
  const Voters& voters_;
  Scripts& scripts_;
  Options options_;
  std::function<void(const std::string&)> warn_;
  // The newest epoch that we know of. It is voted in when a majority has had it at one moment: else a
  // node could vote in an epoch that nobody else knows, lose its data, and come back to it.
  quorum::Era era_;
  bool established_ = false;
  std::uint64_t floor_ = 0;
  bool finishing_ = false;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::redlock
