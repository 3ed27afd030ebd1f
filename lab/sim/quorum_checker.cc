#include "lab/sim/quorum_checker.h"

#include <algorithm>

#include "engines/quorum/tally.h"

namespace holdfast::lab::sim {

using internal::quorum::majority_of;

namespace {

std::string short_of(const ClaimId& id) { return id.hex().substr(0, 6); }

}  // namespace

// ---- Votes -------------------------------------------------------------------------------------

void QuorumChecker::on_vote_sent(const Claim& claim) {
  floors_.emplace(claim.id, highest_);
  if (ended_.contains(claim.id)) {
    find_(Finding::broken_lease, "a vote was sent for a claim that had been given up");
  }
}

void QuorumChecker::on_voted(const ClaimId& id, std::uint32_t attempt, std::size_t node,
                             const internal::quorum::Ballot& ballot) {
  using Kind = internal::quorum::Ballot::Kind;
  if (note_) {
    const char* what = ballot.accepted               ? "locked, token accepted"
                       : ballot.kind == Kind::locked ? "locked, token too low"
                       : ballot.kind == Kind::busy   ? "busy"
                       : ballot.kind == Kind::closed ? "closed"
                                                     : "gone";
    note_("  node " + std::to_string(node) + " votes on claim " + short_of(id) + ", attempt " +
          std::to_string(attempt) + ": " + what);
  }
  if (ballot.kind == Kind::locked) fences_[id] = std::max(fences_[id], ballot.fence);
  if (ballot.accepted && on_accepted) on_accepted(*nodes_[node]);
  if (ballot.kind == Kind::locked && ended_.contains(id)) ++marks_.late_votes;
  if (ballot.kind == Kind::busy && votes_are_split()) ++marks_.split_votes;
}

void QuorumChecker::on_renewed(const ClaimId& id, std::size_t node,
                               internal::quorum::Standing::Kind kind) {
  using Kind = internal::quorum::Standing::Kind;
  if (!note_) return;
  const char* what = kind == Kind::held ? "held" : kind == Kind::free ? "free" : "lost";
  note_("  node " + std::to_string(node) + " renews claim " + short_of(id) + ": " + what);
}

void QuorumChecker::on_released(const ClaimId& id, std::size_t node, bool had_it) {
  if (!note_) return;
  note_("  node " + std::to_string(node) + " releases claim " + short_of(id) +
        (had_it ? "" : ", which had nothing"));
}

bool QuorumChecker::votes_are_split() const {
  std::map<ClaimId, std::size_t> votes;
  std::size_t most = 0;
  for (const auto& node : nodes_) {
    const auto held = node->held();
    if (held && !held->reserved) most = std::max(most, ++votes[held->id]);
  }
  return votes.size() > 1 && most < majority_of(nodes_.size());
}

std::size_t QuorumChecker::words_of(const ClaimId& id) const {
  return static_cast<std::size_t>(std::count_if(
      nodes_.begin(), nodes_.end(), [&](const auto& node) { return node->has_word(id); }));
}

std::uint64_t QuorumChecker::highest_fence_of(const ClaimId& id) const {
  const auto found = fences_.find(id);
  return found == fences_.end() ? 0 : found->second;
}

// ---- Tokens ------------------------------------------------------------------------------------

void QuorumChecker::on_granted(const Claim& claim, Token token) {
  ++marks_.grants;
  if (!tokens_.insert(token.value()).second) {
    find_(Finding::bad_token, "the token " + token.str() + " was granted twice");
  }
  if (token.value() <= floors_[claim.id]) {
    find_(Finding::bad_token, "the token " + token.str() + " is not higher than " +
                                  std::to_string(floors_[claim.id]) +
                                  ", which was granted before its first vote");
  }
  if (token.value() < highest_) ++marks_.slow_grants;
  highest_ = std::max(highest_, token.value());
  check_overtaking(claim, token);
}

// While a majority keeps a claim's word without a break since each of those nodes accepted its
// token, that is the greatest token granted to anybody.
void QuorumChecker::check_overtaking(const Claim& claim, Token token) {
  std::map<std::pair<ClaimId, std::uint64_t>, std::size_t> words;
  for (const auto& node : nodes_) {
    const auto held = node->held();
    if (!held || held->accepted == 0 || held->id == claim.id) continue;
    if (++words[{held->id, held->accepted}] < majority_of(nodes_.size())) continue;
    if (token.value() > held->accepted) {
      find_(Finding::bad_token, "the token " + token.str() + " was granted while " +
                                    std::to_string(held->accepted) + " is held on a majority");
      return;
    }
  }
}

}  // namespace holdfast::lab::sim
