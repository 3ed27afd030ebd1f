#include "lab/sim/brief_voter.h"

#include <algorithm>

namespace holdfast::lab::sim {

using internal::quorum::Ballot;
using internal::quorum::Proposal;
using internal::quorum::Standing;

namespace {

QuorumNode::Ask ask_of(const Claim& claim) {
  return {.id = claim.id, .mode = claim.mode, .ttl = claim.ttl};
}

}  // namespace

std::optional<BootTime> BriefVoter::arrival(const internal::SimRuntime& to, BootTime& last) {
  const std::optional<BootTime> drawn = cut_ ? std::nullopt : network_.draw_arrival(to);
  if (!drawn) {
    last = BootTime();
    return std::nullopt;
  }
  last = std::max(*drawn, last + Duration(1));
  return last;
}

template <class T>
void BriefVoter::take(std::uint64_t number, T value) {
  const auto found = std::find_if(calls_.begin(), calls_.end(),
                                  [&](const Call* call) { return call->number == number; });
  if (found == calls_.end()) return;
  *static_cast<std::optional<T>*>((*found)->answer) = std::move(value);
  (*found)->done.set();
}

template <class T, class Question>
Task<BriefVoter::Reply<T>> BriefVoter::ask(Question question, Deadline deadline) {
  Reply<T> reply{std::nullopt, client_.now()};
  Call call(*this, next_number_++);
  call.answer = &reply.value;
  if (const std::optional<BootTime> there = arrival(node_.runtime(), last_there_)) {
    network_.deliver(
        node_.runtime(), *there,
        [node = &node_, self = self_, number = call.number, question = std::move(question)] {
          T value = question(*node);
          BriefVoter* voter = *self;
          if (!voter) return;
          const std::optional<BootTime> back = voter->arrival(voter->client_, voter->last_back_);
          if (!back) return;
          voter->network_.deliver(voter->client_, *back,
                                  [self, number, value = std::move(value)]() mutable {
                                    if (*self) (*self)->take<T>(number, std::move(value));
                                  });
        });
  }
  static_cast<void>(co_await call.done.wait(deadline));
  co_return reply;
}

template <class Question>
Task<Ballot> BriefVoter::ballot(Question question, Deadline deadline) {
  Reply<Ballot> reply = co_await ask<Ballot>(std::move(question), deadline);
  Ballot ballot;
  ballot.kind = Ballot::Kind::silent;
  ballot.code = Code::unknown;
  if (reply.value) ballot = std::move(*reply.value);
  ballot.sent_at = reply.sent_at;
  co_return ballot;
}

Task<Ballot> BriefVoter::vote(const Claim& claim, const Proposal& proposal, Deadline deadline) {
  auto question = [to = ask_of(claim), proposal, watch = &watch_](QuorumNode& node) {
    Ballot ballot = node.vote(to, proposal, node.marker()).ballot;
    (*watch)(to.id, ballot);
    return ballot;
  };
  return ballot(std::move(question), deadline);
}

Task<Ballot> BriefVoter::fence(const Claim& claim, const Proposal& proposal, Deadline deadline) {
  auto question = [to = ask_of(claim), proposal, watch = &watch_](QuorumNode& node) {
    Ballot ballot = node.confirm(to, proposal, node.marker()).ballot;
    (*watch)(to.id, ballot);
    return ballot;
  };
  return ballot(std::move(question), deadline);
}

Task<std::vector<Result<Standing>>> BriefVoter::renew(std::vector<Hold> holds, Deadline deadline) {
  std::vector<Result<Standing>> standings;
  for (const Hold& hold : holds) {
    auto question = [to = ask_of(hold.claim), token = hold.token.value()](QuorumNode& node) {
      return node.renew(to, token);
    };
    const auto reply = co_await ask<Standing::Kind>(std::move(question), deadline);
    if (reply.value) {
      standings.emplace_back(Standing{*reply.value, reply.sent_at});
    } else {
      standings.emplace_back(Failure(Code::unknown, "no answer"));
    }
  }
  co_return standings;
}

Task<Result<bool>> BriefVoter::release(const Claim& claim, const Return& how, Deadline deadline) {
  auto question = [to = ask_of(claim), how](QuorumNode& node) { return node.release(to, how); };
  const auto reply = co_await ask<bool>(std::move(question), deadline);
  if (!reply.value) co_return Failure(Code::unknown, "no answer");
  co_return *reply.value;
}

Task<Result<bool>> BriefVoter::evict(const Name&, Token, Deadline) {
  co_return Failure(Code::unsupported, "not simulated");
}
Task<Result<LockInfo>> BriefVoter::inspect(const Name&, Deadline) {
  co_return Failure(Code::unsupported, "not simulated");
}
Task<Result<std::vector<Name>>> BriefVoter::names(const std::string&, Deadline) {
  co_return Failure(Code::unsupported, "not simulated");
}

const Guarantees& BriefElectorate::guarantees() const {
  static const Guarantees guarantees{.engine = "sim",
                                     .recipe = "quorum",
                                     .exclusion = Exclusion::bounded_by_clocks,
                                     .token = TokenStrength::quorum,
                                     .wake_up = WakeUp::poll};
  return guarantees;
}

}  // namespace holdfast::lab::sim
