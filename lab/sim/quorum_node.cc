#include "lab/sim/quorum_node.h"

#include <algorithm>

namespace holdfast::lab::sim {

using internal::quorum::Ballot;
using internal::quorum::Era;
using internal::quorum::Proposal;
using internal::quorum::Standing;
using internal::quorum::Voter;

namespace {

std::int64_t us_of(Duration span) {
  return std::chrono::duration_cast<std::chrono::microseconds>(span).count();
}

}  // namespace

// As Redis: by the wall clock, which may jump.
std::int64_t QuorumNode::now_us() const {
  const auto since_epoch = runtime_.wall().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
}

// ---- Its part in the electorate ----------------------------------------------------------------

Duration QuorumNode::silent_for() const {
  return std::chrono::microseconds(std::max<std::int64_t>(marker_.until_us - now_us(), 0));
}

QuorumNode::Marker QuorumNode::marker() const {
  Marker seen = marker_;
  if (marker_.state == Marker::State::blank || marker_.run == boot_) return seen;
  if (rules_.votes_when_restarted && marker_.votes()) return seen;
  seen.state = Marker::State::restarted;
  if (marker_.votes()) seen.memory = Marker::Memory::older;
  return seen;
}

void QuorumNode::mark(std::uint64_t nonce) {
  const Marker seen = marker();
  if (seen.state != Marker::State::blank && seen.state != Marker::State::restarted) return;
  marker_ = Marker{.state = Marker::State::marked,
                   .era = seen.era,
                   .nonce = nonce,
                   .run = boot_,
                   .floor = seen.floor,
                   .memory = seen.remembers() ? Marker::Memory::older : Marker::Memory::none};
}

void QuorumNode::raise(const Era& era, bool established, std::uint64_t floor) {
  if (!marker().votes()) return;
  marker_.floor = std::max(marker_.floor, floor);
  if (era > marker_.era) {
    marker_.era = era;
    marker_.established = established;
  } else if (era == marker_.era && established) {
    marker_.established = true;
  }
}

void QuorumNode::join(const Marker& from, const Marker& to, Duration silence) {
  if (marker() != from) return;
  marker_.state = Marker::State::joining;
  marker_.era = to.era;
  marker_.floor = to.floor;
  marker_.memory = to.memory;
  if (from.state == Marker::State::marked) marker_.until_us = now_us() + us_of(silence);
}

void QuorumNode::open(const Marker& from, std::uint64_t nonce, std::uint64_t floor) {
  if (marker() != from) return;
  marker_ = Marker{.state = Marker::State::open,
                   .era = from.era,
                   .nonce = nonce,
                   .run = from.run,
                   .floor = floor};
  ++rejoins;
  if (from.memory == Marker::Memory::refounds) ++refoundings;
}

bool QuorumNode::adopt(const Marker& from, std::uint64_t token) {
  if (marker() != from) return false;
  // Without its claim: this node did not accept it for anybody, or may not remember for whom.
  fence_ = Fence{std::max(fence_.token, token), ClaimId()};
  return true;
}

// ---- The word ----------------------------------------------------------------------------------

void QuorumNode::drop_ended() {
  const std::int64_t now = now_us();
  std::erase_if(holders_, [now](const auto& holder) { return holder.second.ends_us <= now; });
  if (line_ends_us_ <= now) line_.clear();
}

QuorumNode::Word* QuorumNode::word_of(const ClaimId& id) {
  const auto found = holders_.find(id);
  return found == holders_.end() ? nullptr : &found->second;
}

bool QuorumNode::admits(Mode mode) const {
  return holders_.empty() || (mode == Mode::shared && mode_ == Mode::shared);
}

// An older vote of the same claim, late, does not make a newer one its own.
void QuorumNode::set_word(const Ask& ask, std::uint32_t attempt, Duration ttl) {
  mode_ = ask.mode;
  Word& word = holders_[ask.id];
  word.attempt = std::max(word.attempt, attempt);
  word.ends_us = now_us() + us_of(ttl);
}

bool QuorumNode::free_word(const ClaimId& id, std::uint32_t attempt) {
  const Word* word = word_of(id);
  if (!word && rules_.anyone_releases) holders_.clear();
  if (!word || word->attempt > attempt) return false;
  holders_.erase(id);
  return true;
}

Ballot QuorumNode::accept(const ClaimId& id, std::uint64_t token, bool again, bool holds) {
  constexpr std::int64_t kHourUs = 3'600'000'000;
  Ballot ballot;
  ballot.kind = Ballot::Kind::locked;
  Word none;  // Only where it is accepted without.
  Word& word = word_of(id) ? *word_of(id) : none;
  if (rules_.counter_tokens) {
    fence_ = Fence{fence_.token + 1, id};
    ballot.fence = word.accepted = fence_.token;
    ballot.accepted = true;
    return ballot;
  }
  if (holds && token == fence_.token && fence_.owner == ClaimId()) fence_.owner = id;
  const bool own = fence_.owner == id;
  if (token == fence_.token && own) {
    ballot.accepted = true;
    word.accepted = token;
    return ballot;
  }
  ballot.fence = fence_.token;
  ballot.own = own;
  if (!again || !own) {
    const auto clock = static_cast<std::uint64_t>(now_us() + kHourUs);
    const std::uint64_t most = std::max({clock, fence_.token + 1000, marker_.floor + 1000});
    if (token > fence_.token && token <= most) {
      fence_ = Fence{token, id};
      word.accepted = token;
      ballot.fence = 0;
      ballot.accepted = true;
      return ballot;
    }
    ballot.most = most;
  }
  ++low_tokens;
  return ballot;
}

// ---- The line ----------------------------------------------------------------------------------

// Keeps the word, for a moment, for those at the head of the line. True if `self` is the head and
// could have it. A claim that has just given way is not offered the same again.
bool QuorumNode::serve(const ClaimId* self, const ClaimId* giver) {
  while (!line_.empty()) {
    const Ask head = line_.front().ask;
    if (!admits(head.mode) || (giver && head.id == *giver)) return false;
    line_.erase(line_.begin());
    if (self && head.id == *self) return true;
    const auto channel = channels_.find(head.channel);
    if (channel == channels_.end()) {
      ++unheard;
      continue;
    }
    channel->second(head.id);
    set_word(head, 0, head.keep);
    word_of(head.id)->reserved = true;
    ++reservations;
  }
  return false;
}

void QuorumNode::queue_up(const Ask& ask, const internal::quorum::Arrival& arrival) {
  constexpr std::int64_t kHourUs = 3'600'000'000;
  const std::int64_t now = now_us();
  line_ends_us_ = now + kHourUs;
  if (in_line(ask.id)) return;
  const std::int64_t came = now - ask.waited_us;
  const auto wall =
      std::chrono::duration_cast<std::chrono::microseconds>(arrival.wall.time_since_epoch());
  const bool sane = std::abs(wall.count() - came) < 1'000'000;
  const auto ticket = static_cast<std::uint64_t>(sane ? wall.count() : came);
  const auto found =
      std::upper_bound(line_.begin(), line_.end(), ticket,
                       [](std::uint64_t mine, const Waiter& other) { return mine < other.ticket; });
  line_.insert(found, Waiter{ticket, ask});
}

bool QuorumNode::in_line(const ClaimId& id) const {
  return std::any_of(line_.begin(), line_.end(),
                     [&](const Waiter& waiter) { return waiter.ask.id == id; });
}

// ---- Requests ----------------------------------------------------------------------------------

QuorumNode::Voted QuorumNode::vote(const Ask& ask, const Proposal& proposal, const Marker& marker) {
  Voted voted;
  voted.marker = this->marker();
  if (!voted.marker.votes() || voted.marker != marker || proposal.token <= marker.floor) {
    voted.ballot.kind = Ballot::Kind::closed;
    return voted;
  }
  drop_ended();
  const Word* mine = word_of(ask.id);
  const bool again = mine != nullptr && (ask.mode == mode_);
  if (again || ((serve(&ask.id) || line_.empty()) && admits(ask.mode))) {
    if (mine && mine->reserved) ++reservations_used;
    set_word(ask, proposal.attempt, ask.ttl);
    word_of(ask.id)->reserved = false;
    voted.ballot = accept(ask.id, proposal.token, again, proposal.held);
    return voted;
  }
  if (proposal.ticket) queue_up(ask, *proposal.ticket);
  voted.ballot = refuse(ask);
  return voted;
}

Ballot QuorumNode::refuse(const Ask& ask) {
  Ballot ballot;
  ballot.kind = Ballot::Kind::busy;
  ballot.fence = fence_.token;
  ballot.busy.token = fence_.token;
  if (!holders_.empty()) {
    const auto& [id, word] = *holders_.begin();
    ballot.holder =
        mode_ == Mode::shared ? "readers" : id.hex() + ' ' + std::to_string(word.attempt);
    std::int64_t first = word.ends_us;
    for (const auto& [other, its] : holders_) first = std::min(first, its.ends_us);
    ballot.busy.expires_in = std::chrono::microseconds(first - now_us());
  }
  ballot.busy.holder = ballot.holder;
  const auto found = std::find_if(line_.begin(), line_.end(),
                                  [&](const Waiter& other) { return other.ask.id == ask.id; });
  ballot.busy.rank = static_cast<std::uint64_t>(found - line_.begin());
  return ballot;
}

QuorumNode::Voted QuorumNode::confirm(const Ask& ask, const Proposal& proposal,
                                      const Marker& marker) {
  Voted voted;
  voted.marker = this->marker();
  if (!voted.marker.votes() || voted.marker != marker || proposal.token <= marker.floor) {
    voted.ballot.kind = Ballot::Kind::closed;
    return voted;
  }
  drop_ended();
  if (!word_of(ask.id) && !rules_.fences_without_word) {
    voted.ballot.why = "its vote has ended";
    return voted;
  }
  voted.ballot = accept(ask.id, proposal.token, false, false);
  return voted;
}

Standing::Kind QuorumNode::renew(const Ask& ask, std::uint64_t token) {
  drop_ended();
  Word* word = word_of(ask.id);
  if (ask.mode == Mode::shared) {
    if (!word || word->accepted != token) return Standing::Kind::lost;
    word->ends_us = now_us() + us_of(ask.ttl);
    return Standing::Kind::held;
  }
  const bool mine = (fence_.token == token || rules_.counter_tokens) && fence_.owner == ask.id;
  if (word && mine) {
    if (word->reserved) return Standing::Kind::free;  // only kept for it: to be voted for
    word->ends_us = now_us() + us_of(ask.ttl);
    return Standing::Kind::held;
  }
  if (!holders_.empty() && !word) return Standing::Kind::lost;
  if (fence_.token == token && fence_.owner == ClaimId()) return Standing::Kind::free;
  if (word) return Standing::Kind::lost;
  return mine || fence_.token < token ? Standing::Kind::free : Standing::Kind::lost;
}

bool QuorumNode::release(const Ask& ask, const Voter::Return& how) {
  drop_ended();
  const bool held = free_word(ask.id, how.attempt);
  if (!how.ticket) {
    std::erase_if(line_, [&](const Waiter& waiter) { return waiter.ask.id == ask.id; });
  } else if (!word_of(ask.id)) {  // else a later attempt has it, and this came late
    queue_up(ask, *how.ticket);
  }
  serve(nullptr, how.ticket ? &ask.id : nullptr);
  return held;
}

// ---- Being a server ----------------------------------------------------------------------------

void QuorumNode::restart() {
  ++boot_;
  scripts_ = 0;
  channels_.clear();
  const std::vector<std::function<void()>> all = std::move(connections_);
  connections_.clear();
  for (const auto& tell : all) tell();
}

void QuorumNode::wipe() {
  if (!rules_.votes_when_empty) marker_ = Marker();
  holders_.clear();
  fence_ = Fence();
  line_.clear();
  restart();
  if (rules_.votes_when_empty) marker_.run = boot_;
}

void QuorumNode::restore() {
  marker_ = copy_.marker;
  mode_ = copy_.mode;
  holders_ = copy_.holders;
  fence_ = copy_.fence;
  line_ = copy_.line;
  line_ends_us_ = copy_.line_ends_us;
  restart();
}

// ---- For the checker ---------------------------------------------------------------------------

bool QuorumNode::has_word(const ClaimId& id) {
  drop_ended();
  const Word* word = word_of(id);
  return word && !word->reserved;
}

std::optional<QuorumNode::Held> QuorumNode::held() {
  drop_ended();
  if (holders_.empty() || mode_ != Mode::exclusive) return std::nullopt;
  const auto& [id, word] = *holders_.begin();
  return Held{id, word.accepted, word.reserved};
}

bool QuorumNode::locked() { return drop_ended(), !holders_.empty(); }

}  // namespace holdfast::lab::sim
