#include "engines/quorum/tally.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/require.h"

namespace holdfast::internal::quorum {

void Tally::ask(std::size_t node, std::uint64_t token) {
  votes_[node].pending = true;
  votes_[node].open = true;
  votes_[node].asked = token;
}

void Tally::answer(std::size_t node, std::uint64_t token, const Ballot& ballot) {
  Vote& vote = votes_[node];
  if (!vote.open || vote.asked != token) return;
  vote.pending = false;
  vote.open = false;
  vote.fence = std::max(vote.fence, ballot.fence);
  if (ballot.kind == Ballot::Kind::locked) {
    // A second question does not lengthen the lock: it counts from the first.
    if (!vote.locked) vote.sent_at = ballot.sent_at;
    vote.locked = true;
    vote.most = ballot.most;
    vote.own = ballot.own || ballot.accepted;
    if (ballot.accepted) {
      vote.accepted = token;
      vote.fence = std::max(vote.fence, token);
    }
  } else if (ballot.kind != Ballot::Kind::silent) {
    vote.locked = false;
  }
}

void Tally::stop_waiting() {
  for (Vote& vote : votes_) vote.pending = false;
}

Verdict Tally::decide(std::uint64_t token) const {
  std::size_t accepted = 0;
  std::size_t may_accept = 0;
  std::size_t may_lock = 0;
  for (const Vote& vote : votes_) {
    if (vote.locked && vote.accepted == token) ++accepted;
    if (vote.pending && vote.asked == token) ++may_accept;
    if (vote.locked || vote.pending) ++may_lock;
  }
  if (accepted >= majority()) return Verdict::granted;
  if (accepted + may_accept >= majority()) return Verdict::open;
  if (locked() >= majority()) return Verdict::low;
  return may_lock >= majority() ? Verdict::open : Verdict::lost;
}

std::size_t Tally::locked() const {
  return static_cast<std::size_t>(
      std::count_if(votes_.begin(), votes_.end(), [](const Vote& vote) { return vote.locked; }));
}

std::size_t Tally::pending() const {
  return static_cast<std::size_t>(
      std::count_if(votes_.begin(), votes_.end(), [](const Vote& vote) { return vote.pending; }));
}

std::size_t Tally::unanswered() const {
  return static_cast<std::size_t>(
      std::count_if(votes_.begin(), votes_.end(), [](const Vote& vote) { return vote.open; }));
}

BootTime Tally::counted_from(std::uint64_t token) const {
  std::vector<BootTime> moments;
  for (const Vote& vote : votes_) {
    if (vote.locked && vote.accepted == token) moments.push_back(vote.sent_at);
  }
  std::sort(moments.begin(), moments.end(), std::greater<>());
  HOLDFAST_REQUIRE(moments.size() >= majority());
  return moments.at(majority() - 1);
}

std::size_t Tally::accepting(std::uint64_t token) const {
  return static_cast<std::size_t>(
      std::count_if(votes_.begin(), votes_.end(), [token](const Vote& vote) {
        if (!vote.locked) return false;
        if (token == vote.fence && vote.own) return true;
        return token > vote.fence && (vote.most == 0 || token <= vote.most);
      }));
}

std::uint64_t Tally::next_token(std::uint64_t wish, std::uint64_t least) const {
  // The claim holds with the token that a majority accepted; else take the highest that it has anywhere.
  std::map<std::uint64_t, std::size_t> own;
  for (const Vote& vote : votes_) {
    if (vote.locked && vote.own && vote.fence >= least) ++own[vote.fence];
  }
  for (const auto& [token, nodes] : own) {
    if (nodes >= majority()) return token;
  }
  if (!own.empty() && accepting(own.rbegin()->first) >= majority()) return own.rbegin()->first;
  std::uint64_t best = std::max({wish, least, highest_fence() + 1});
  std::size_t most = accepting(best);
  const auto consider = [&](std::uint64_t token) {
    const std::size_t votes = accepting(token);
    if (votes > most) {
      best = token;
      most = votes;
    }
  };
  for (const Vote& vote : votes_) {
    consider(std::max(vote.fence + 1, least));
    if (vote.most >= least) consider(vote.most);
  }
  return best;
}

std::uint64_t Tally::highest_fence() const {
  std::uint64_t highest = 0;
  for (const Vote& vote : votes_) highest = std::max(highest, vote.fence);
  return highest;
}

}  // namespace holdfast::internal::quorum
