// Membership: which of the nodes may vote, and in which epoch; how they are founded, and how one that
// lost its data comes back. Inside the loop only.
//
// A node that restarts empty has forgotten whom it voted for and which tokens it accepted. If it
// voted on at once, two claims could have a majority, or one token two owners. So
//   1. it does not vote: its marker is gone, and every vote compares the marker. It is marked anew, so
//      that all that follows is known to have come after the loss;
//   2. a new epoch, which nobody ever used, is written to a majority of the *other* nodes: votes that
//      are still under way from before, and that the empty node may have been part of, then count
//      nowhere;
//   3. it stays silent for the longest ttl that anybody uses, so what it had voted for has ended;
//   4. it takes over the highest tokens of a majority of the others, and then votes again.
// Any client does the next step that is due; a step that is done twice does no harm. The order of
// these steps is what tests/model checks.
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

class Membership {
 public:
  using Voters = std::vector<std::unique_ptr<RedisVoter>>;

  Membership(Runtime& runtime, const Voters& voters, Scripts& scripts, Duration node_timeout,
             std::function<void(const std::string&)> warn);

  const quorum::Era& era() const { return era_; }
  // Whether votes may be asked for in this era.
  bool established() const { return established_; }
  // Whether a node that answered is not among the voters.
  bool incomplete() const;
  // What keeps nodes from voting, for people.
  std::string state() const;

  // Does what can be done at once. True if a majority votes now; false if more time may help.
  Task<Result<bool>> open(Duration ttl, Deadline deadline);
  void stop() { background_.stop(); }

 private:
  using Nodes = std::vector<std::size_t>;
  // What came of asking several nodes.
  struct Outlook;

  std::size_t size() const { return voters_.size(); }
  Task<void> tend(std::size_t node, redis::Script& script, redis::Words arguments,
                  Deadline deadline, bool needed, std::shared_ptr<Outlook> outlook);
  // Runs a script at each of the nodes, at the same time. Slow ones are not waited for much longer
  // than a majority, unless they are all `needed`.
  Task<Outlook> tend_each(Nodes nodes, redis::Script& script, redis::Words arguments,
                          Deadline deadline, bool needed);
  // The same; gives back those that answered.
  Task<Nodes> tend_all(Nodes nodes, redis::Script& script, redis::Words arguments,
                       Deadline deadline);

  Task<Result<bool>> open_once(Duration ttl, Deadline deadline);
  // Enough nodes are there, but they do not agree yet.
  bool in_motion() const;
  std::optional<Failure> misfit(const Nodes& seen) const;
  std::optional<Failure> hopeless(const Nodes& seen) const;

  Task<Result<void>> found(Nodes seen, Outlook outlook, std::int64_t longest_ms, Deadline deadline);
  Task<void> raise(Nodes nodes, std::int64_t longest_ms, Deadline deadline);
  Task<void> establish(Nodes nodes, Deadline deadline);
  Task<void> bring_back(const Nodes& seen, const Nodes& open, Deadline deadline);
  Task<void> renounce(std::size_t node, Deadline deadline);
  Task<void> welcome(const Nodes& seen, Deadline deadline);
  Task<void> join(std::size_t node, Nodes open, Deadline deadline);
  Task<void> finish(std::size_t node, Nodes open);
  Task<bool> take_over(std::size_t node, const Nodes& open, Deadline deadline);

  void hear_of(std::size_t node);
  quorum::Era new_epoch();
  std::uint64_t wall_ms() const;
  std::uint64_t nonce() { return runtime_.random() >> 11; }  // what a script can count to
  Nodes everybody() const;
  // Those whose last seen marker is in this state.
  Nodes in_state(const Nodes& nodes, Marker::State state) const;
  std::int64_t longest_ms(const Nodes& nodes) const;

  Runtime& runtime_;
  const Voters& voters_;
  Scripts& scripts_;
  Duration node_timeout_;
  std::function<void(const std::string&)> warn_;
  // The newest epoch that we know of. It is voted in when a majority has had it at one moment: else a
  // node could vote in an epoch that nobody else knows, lose its data, and come back to it.
  quorum::Era era_;
  bool established_ = false;
  bool finishing_ = false;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::redlock
