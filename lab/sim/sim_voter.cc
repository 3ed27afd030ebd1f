#include "lab/sim/sim_voter.h"

#include <utility>

namespace holdfast::lab::sim {

using internal::quorum::Ballot;
using internal::quorum::Proposal;
using Script = QuorumNode::Script;

// A claim in the line of this node.
class SimVoter::Standing final : public internal::quorum::Voter::Waiter {
 public:
  Standing(SimVoter& voter, const ClaimId& id, Event& told) : voter_(voter), id_(id), told_(told) {
    voter_.standing_.emplace(id, this);
  }
  ~Standing() override { voter_.standing_.erase(id_); }
  bool has_turn() const override { return turn_; }
  bool take_turn() override { return std::exchange(turn_, false); }
  void give_turn() {
    turn_ = true;
    told_.set();
  }
  void tell() { told_.set(); }

 private:
  SimVoter& voter_;
  ClaimId id_;
  Event& told_;
  bool turn_ = false;
};

SimVoter::SimVoter(internal::SimRuntime& client, QuorumNode& node, SimNetwork& network,
                   VoterMarks& marks, VoteWatcher& watcher, Duration node_timeout)
    : client_(client),
      node_(node),
      marks_(marks),
      watcher_(watcher),
      node_timeout_(node_timeout),
      asking_(client, node, network, marks.links, node_timeout),
      hearing_(client, node, network, marks.links, node_timeout),
      channel_(client.random() | 1U) {
  hearing_.on_turn = [this](const ClaimId& id) {
    const auto found = standing_.find(id);
    if (found != standing_.end()) found->second->give_turn();
  };
  hearing_.on_lost = [this] {
    listening_ = false;
    for (const auto& [id, standing] : standing_) standing->tell();
  };
}

void SimVoter::set_cut(bool cut) {
  asking_.set_cut(cut);
  hearing_.set_cut(cut);
}

void SimVoter::stop() {
  asking_.stop();
  hearing_.stop();
}

template <class T>
Task<Result<SimVoter::Reply<T>>> SimVoter::ask(Script script,
                                               std::function<T(QuorumNode&)> question,
                                               Deadline deadline) {
  SimLink::Question by_digest = [script, question](QuorumNode& node) {
    return node.knows(script) ? std::any(question(node)) : std::any();
  };
  Result<SimLink::Answer> answer = co_await asking_.call(std::move(by_digest), deadline);
  if (answer && !answer->value.has_value()) {
    // It was restarted since: the whole text, which what was sent meanwhile may have overtaken.
    ++marks_.sent_twice;
    const Result<void> opened = co_await asking_.open(deadline);
    if (!opened) co_return opened.failure();
    SimLink::Question whole = [script, question](QuorumNode& node) {
      node.learn(script);
      return std::any(question(node));
    };
    answer = co_await asking_.call(std::move(whole), deadline);
  }
  if (!answer) co_return answer.failure();
  Reply<T> reply{std::any_cast<T>(answer->value), answer->sent_at};
  co_return reply;
}

QuorumNode::Ask SimVoter::ask_of(const Claim& claim, const internal::quorum::Ticket& ticket) const {
  Duration waited{};
  if (ticket) waited = std::max<Duration>(client_.now() - ticket->at, Duration(0));
  return {.id = claim.id,
          .mode = claim.mode,
          .ttl = claim.ttl,
          .keep = std::min<Duration>(claim.ttl, 2 * node_timeout_),
          .channel = channel_,
          .waited_us = std::chrono::duration_cast<std::chrono::microseconds>(waited).count()};
}

// ---- Voting ------------------------------------------------------------------------------------

Task<Ballot> SimVoter::vote(const Claim& claim, const Proposal& proposal, Deadline deadline) {
  if (marker_known_ && (!marker_.votes() || marker_.era != proposal.era)) {
    Ballot closed;
    closed.kind = Ballot::Kind::closed;
    ++marks_.closed;
    co_return closed;
  }
  ++marks_.votes;
  watcher_.on_vote_sent(claim);
  const std::function<QuorumNode::Voted(QuorumNode&)> question =
      [to = ask_of(claim, proposal.ticket), proposal, marker = marker_,
       watcher = &watcher_](QuorumNode& node) {
        QuorumNode::Voted voted = node.vote(to, proposal, marker);
        watcher->on_voted(to.id, proposal.attempt, node.number(), voted.ballot);
        return voted;
      };
  const auto reply = co_await ask<QuorumNode::Voted>(Script::vote, question, deadline);
  co_return ballot_of(reply);
}

Task<Ballot> SimVoter::fence(const Claim& claim, const Proposal& proposal, Deadline deadline) {
  ++marks_.second_rounds;
  QuorumNode::Marker marker = marker_;
  if (marker.era != proposal.era) marker = QuorumNode::Marker();
  const std::function<QuorumNode::Voted(QuorumNode&)> question =
      [to = ask_of(claim), proposal, marker, watcher = &watcher_](QuorumNode& node) {
        QuorumNode::Voted voted = node.confirm(to, proposal, marker);
        watcher->on_voted(to.id, proposal.attempt, node.number(), voted.ballot);
        return voted;
      };
  const auto reply = co_await ask<QuorumNode::Voted>(Script::fence, question, deadline);
  co_return ballot_of(reply);
}

Ballot SimVoter::ballot_of(const Result<Reply<QuorumNode::Voted>>& reply) {
  Ballot ballot;
  if (!reply) {
    const bool left = reply.code() == Code::unknown;
    if (left) ++marks_.silent;
    ballot.kind = left ? Ballot::Kind::silent : Ballot::Kind::unreachable;
    ballot.code = reply.code();
    ballot.why = reply.message();
    return ballot;
  }
  ballot = reply->value.ballot;
  ballot.sent_at = reply->sent_at;
  if (ballot.kind == Ballot::Kind::closed) {
    ++marks_.closed;
    marker_ = reply->value.marker;
    marker_known_ = true;
  }
  return ballot;
}

// ---- Keeping and giving back -------------------------------------------------------------------

Task<std::vector<Result<internal::quorum::Standing>>> SimVoter::renew(std::vector<Hold> holds,
                                                                      Deadline deadline) {
  using internal::quorum::Standing;
  std::vector<Result<Standing>> outcomes;
  for (const Hold& hold : holds) {
    const std::function<Standing::Kind(QuorumNode&)> question =
        [to = ask_of(hold.claim), token = hold.token.value(),
         watcher = &watcher_](QuorumNode& node) {
          const Standing::Kind kind = node.renew(to, token);
          watcher->on_renewed(to.id, node.number(), kind);
          return kind;
        };
    const auto reply = co_await ask<Standing::Kind>(Script::renew, question, deadline);
    if (reply) {
      outcomes.emplace_back(Standing{reply->value, reply->sent_at});
    } else {
      outcomes.emplace_back(reply.failure());
    }
  }
  co_return outcomes;
}

Task<Result<bool>> SimVoter::release(const Claim& claim, const Return& how, Deadline deadline) {
  if (how.ticket) ++marks_.yields;
  const std::function<bool(QuorumNode&)> question = [to = ask_of(claim, how.ticket), how,
                                                     watcher = &watcher_](QuorumNode& node) {
    const bool had_it = node.release(to, how);
    watcher->on_released(to.id, node.number(), had_it);
    return had_it;
  };
  const auto reply = co_await ask<bool>(Script::release, question, deadline);
  if (!reply) co_return reply.failure();
  co_return reply->value;
}

Task<Result<bool>> SimVoter::evict(const Name&, Token, Deadline) {
  co_return Failure(Code::unsupported, "not simulated");
}

Task<Result<LockInfo>> SimVoter::inspect(const Name&, Deadline) {
  co_return Failure(Code::unsupported, "not simulated");
}

Task<Result<std::vector<Name>>> SimVoter::names(const std::string&, Deadline) {
  co_return Failure(Code::unsupported, "not simulated");
}

// ---- Hearing -----------------------------------------------------------------------------------

Task<Result<void>> SimVoter::listen(Deadline deadline, std::stop_token) {
  Result<void> opened = co_await asking_.open(deadline);
  if (opened) opened = co_await hearing_.open(deadline);
  if (!opened) co_return opened;
  const Result<SimLink::Answer> answer = co_await hearing_.subscribe(channel_, deadline);
  if (!answer) co_return answer.failure();
  listening_ = hearing_.connected();
  co_return Result<void>();
}

std::unique_ptr<internal::quorum::Voter::Waiter> SimVoter::enqueue(const Claim& claim,
                                                                   Event& told) {
  return std::make_unique<Standing>(*this, claim.id, told);
}

Task<bool> SimVoter::watch(const Name&, Deadline) { co_return false; }

// ---- Its part in the electorate ----------------------------------------------------------------

Task<Result<void>> SimVoter::tend(std::function<void(QuorumNode&)> what, Deadline deadline) {
  struct Seen {
    QuorumNode::Marker marker;
    Duration silent_for;
    std::int64_t clock_us;
  };
  const std::function<Seen(QuorumNode&)> question = [what = std::move(what)](QuorumNode& node) {
    if (what) what(node);
    return Seen{node.marker(), node.silent_for(), node.clock_us()};
  };
  const auto reply = co_await ask<Seen>(Script::marker, question, deadline);
  if (!reply) co_return reply.failure();
  marker_ = reply->value.marker;
  silent_for_ = reply->value.silent_for;
  clock_us_ = static_cast<std::uint64_t>(std::max<std::int64_t>(reply->value.clock_us, 0));
  marker_known_ = true;
  co_return Result<void>();
}

Task<Result<std::uint64_t>> SimVoter::fence_of(Deadline deadline) {
  const std::function<std::uint64_t(QuorumNode&)> question = [](QuorumNode& node) {
    return node.fence();
  };
  const auto reply = co_await ask<std::uint64_t>(Script::marker, question, deadline);
  if (!reply) co_return reply.failure();
  co_return reply->value;
}

Task<Result<bool>> SimVoter::adopt(std::uint64_t token, Deadline deadline) {
  const std::function<bool(QuorumNode&)> question = [from = marker_, token](QuorumNode& node) {
    return node.adopt(from, token);
  };
  const auto reply = co_await ask<bool>(Script::marker, question, deadline);
  if (!reply) co_return reply.failure();
  co_return reply->value;
}

}  // namespace holdfast::lab::sim
