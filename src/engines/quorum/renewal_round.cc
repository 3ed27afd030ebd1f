#include "engines/quorum/renewal_round.h"

#include <algorithm>
#include <functional>

#include "engines/kit/failures.h"

namespace holdfast::internal::quorum {

// Shared with those who ask: slow nodes answer when the round is over.
struct RenewalRounds::Round {
  Round(Runtime& runtime, std::vector<Hold> which, std::size_t nodes)
      : holds(std::move(which)), seen(holds.size()), pending(nodes), changed(runtime) {}

  struct Seen {
    std::vector<BootTime> held;  // when each node was asked that has it
    std::size_t not_held = 0;
    std::vector<std::size_t> free_at;  // nodes that could vote for it as well
  };
  std::vector<Hold> holds;
  std::vector<Seen> seen;
  std::size_t pending;  // nodes that have not answered
  std::string why;
  Event changed;
  void add_why(const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; }
};

Task<void> RenewalRounds::renew_at(std::shared_ptr<Round> round, std::size_t node,
                                   Deadline deadline) {
  // Enough to hide the way to the node, and little enough for its buffers and ours.
  constexpr std::size_t kPart = 500;
  Voter& voter = electorate_.voter(node);
  const Result<void> ready = co_await voter.ready(deadline);
  if (!ready) round->add_why(ready.message());
  const std::vector<Hold>& all = round->holds;
  // One alone at first: a node may have something to learn from it (a script) that the others then need
  // not bring.
  std::size_t end = 0;
  for (std::size_t begin = 0; ready && begin < all.size(); begin = end) {
    end = std::min(begin + (begin == 0 ? 1 : kPart), all.size());
    std::vector<Hold> part(all.begin() + static_cast<std::ptrdiff_t>(begin),
                           all.begin() + static_cast<std::ptrdiff_t>(end));
    const std::vector<Result<Standing>> answers = co_await voter.renew(std::move(part), deadline);
    for (std::size_t i = begin; i < end; ++i) {
      const Result<Standing>& answer = answers[i - begin];
      Round::Seen& seen = round->seen[i];
      if (!answer) {
        if (i == begin) round->add_why(answer.message());
      } else if (answer->kind == Standing::Kind::held) {
        seen.held.push_back(answer->sent_at);
      } else {
        ++seen.not_held;
        if (answer->kind == Standing::Kind::free) seen.free_at.push_back(node);
      }
    }
    round->changed.set();
  }
  --round->pending;
  round->changed.set();
}

Task<std::vector<Result<Grant>>> RenewalRounds::renew(std::vector<Hold> holds, Deadline deadline) {
  const std::size_t nodes = electorate_.size();
  const std::size_t majority = majority_of(nodes);
  const std::vector<std::size_t> asked = nodes_to_ask(electorate_);
  const auto round = std::make_shared<Round>(runtime_, std::move(holds), asked.size());
  for (std::size_t node = 0; node < nodes; ++node) {
    if (std::find(asked.begin(), asked.end(), node) != asked.end()) continue;
    round->add_why(electorate_.voter(node).display() + " does not answer");
  }
  for (const std::size_t node : asked) background_.spawn(renew_at(round, node, deadline));
  const auto decided = [&] {
    return std::all_of(round->seen.begin(), round->seen.end(), [&](const Round::Seen& seen) {
      return seen.held.size() >= majority || seen.not_held > nodes - majority;
    });
  };
  while (round->pending > 0 && !decided()) {
    round->changed.reset();
    if (co_await round->changed.wait(deadline) == Woken::timed_out) break;
  }
  std::vector<Result<Grant>> outcomes;
  outcomes.reserve(round->seen.size());
  for (std::size_t i = 0; i < round->seen.size(); ++i) {
    Round::Seen& seen = round->seen[i];
    const Hold& hold = round->holds[i];
    if (seen.held.size() >= majority) {
      std::sort(seen.held.begin(), seen.held.end(), std::greater<>());
      outcomes.emplace_back(
          Grant{hold.token, seen.held[majority - 1], electorate_.sure_ttl(hold.claim.ttl)});
      // A node that was down when the lock was taken, or was restarted since: every vote more is
      // one more node that may fail.
      for (const std::size_t node : seen.free_at) campaign_.add_vote(hold, node);
    } else if (seen.not_held > nodes - majority) {
      outcomes.emplace_back(no_longer_held(hold.claim.name));
      campaign_.forget(hold.claim.id);
    } else {
      outcomes.emplace_back(
          Failure(Code::unreachable, "only " + std::to_string(seen.held.size()) + " of " +
                                         std::to_string(nodes) + " nodes renewed '" +
                                         hold.claim.name.display() + "', and " +
                                         std::to_string(majority) + " are needed" +
                                         (round->why.empty() ? "" : " (" + round->why + ")")));
    }
  }
  electorate_.look_after();
  co_return outcomes;
}

}  // namespace holdfast::internal::quorum
