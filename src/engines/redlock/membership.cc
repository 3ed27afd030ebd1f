#include "engines/redlock/membership.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "engines/quorum/tally.h"

namespace holdfast::internal::redlock {

namespace {

using State = Marker::State;

constexpr const char* kBeginAnew =
    "When no lock is held, delete the key holdfast:redlock, with your prefix, on every node to "
    "begin anew";

}  // namespace

struct Membership::Outlook {
  Nodes answered;
  Code code = Code::unreachable;  // of the others; misconfigured if one of them is
  std::string why;
  std::size_t pending = 0;
  std::shared_ptr<Event> changed;
};

Membership::Membership(Runtime& runtime, const Voters& voters, Scripts& scripts,
                       const Options& options, std::function<void(const std::string&)> warn)
    : runtime_(runtime),
      voters_(voters),
      scripts_(scripts),
      options_(options),
      warn_(std::move(warn)),
      background_(runtime) {}

// ---- Knowledge ---------------------------------------------------------------------------------

void Membership::hear_of(std::size_t node) {
  const Marker& marker = voters_[node]->marker();
  if (marker.epoch > era_) {
    era_ = marker.epoch;
    established_ = false;
  }
  if (marker.established && marker.epoch == era_) established_ = true;
  floor_ = std::max(floor_, marker.floor);
}

std::size_t Membership::majority() const { return quorum::majority_of(size()); }

bool Membership::votes_in_era(std::size_t node) const {
  return voters_[node]->votes() && voters_[node]->marker().epoch == era_;
}

bool Membership::recovering() const {
  const std::size_t voting = in_state(everybody(), State::open).size();
  const std::size_t joining = in_state(everybody(), State::joining).size();
  return voting < majority() && voting + joining >= majority();
}

bool Membership::incomplete() const {
  const Nodes all = everybody();
  return std::any_of(all.begin(), all.end(), [&](std::size_t node) {
    return voters_[node]->marker_known() && !votes_in_era(node);
  });
}

std::string Membership::absence_of(std::size_t node) const {
  switch (voters_[node]->state()) {
    case State::unseen: return "has not answered";
    case State::blank:
    case State::founding: return "has lost its data, or is new, and does not vote yet";
    case State::open: return votes_in_era(node) ? "" : "is about to learn of a new epoch";
    default: return voters_[node]->absence();
  }
}

std::string Membership::state() const {
  std::string text;
  for (const std::size_t node : everybody()) {
    const std::string absence = absence_of(node);
    if (absence.empty()) continue;
    text += (text.empty() ? "" : "; ") + voters_[node]->endpoint().display() + " " + absence;
  }
  if (text.empty()) return "they do not agree on an epoch yet";
  // Without the others, nobody knows how long it takes.
  const bool missing = !in_state(everybody(), State::unseen).empty();
  return missing && !recovering() ? text + ". They vote again when more nodes are there" : text;
}

quorum::Era Membership::new_epoch() {
  // Later than any that is known; and nobody else's, even if another client does the same now.
  return quorum::Era{std::max(era_.number + 1, wall_ms()), nonce()};
}

std::uint64_t Membership::wall_ms() const {
  const auto since_epoch = runtime_.wall().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms, 1));
}

Membership::Nodes Membership::everybody() const {
  Nodes all(size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Membership::Nodes Membership::in_state(const Nodes& nodes, State state) const {
  Nodes found;
  for (const std::size_t node : nodes) {
    if (voters_[node]->state() == state) found.push_back(node);
  }
  return found;
}

std::int64_t Membership::longest_ms(const Nodes& nodes) const {
  std::int64_t longest = options_.usual_longest_ms;
  for (const std::size_t node : nodes) {
    longest = std::max(longest, voters_[node]->marker().longest_ms);
  }
  return longest;
}

// ---- Asking ------------------------------------------------------------------------------------

Task<void> Membership::tend(std::size_t node, redis::Script& script, redis::Words arguments,
                            Deadline deadline, bool needed, std::shared_ptr<Outlook> outlook) {
  RedisVoter& voter = *voters_[node];
  Result<void> done(Failure(Code::unreachable, voter.display() + " does not answer"));
  if (voter.responsive() || needed) done = co_await voter.ready(deadline);
  if (done) done = co_await voter.tend(script, std::move(arguments), deadline);
  if (done) {
    outlook->answered.push_back(node);
  } else {
    if (done.code() == Code::misconfigured) outlook->code = Code::misconfigured;
    outlook->why += (outlook->why.empty() ? "" : "; ") + done.message();
  }
  --outlook->pending;
  outlook->changed->set();
}

Task<Membership::Outlook> Membership::tend_each(Nodes nodes, redis::Script& script,
                                                redis::Words arguments, Deadline deadline,
                                                bool needed) {
  constexpr Duration kStragglers = std::chrono::milliseconds(5);
  const auto outlook = std::make_shared<Outlook>();
  outlook->pending = nodes.size();
  outlook->changed = std::make_shared<Event>(runtime_);
  const BootTime begin = runtime_.now();
  Deadline limit = deadline.sooner(begin + 4 * options_.node_timeout);
  TaskGroup group(runtime_);
  for (const std::size_t node : nodes) {
    group.spawn(tend(node, script, arguments, limit, needed, outlook));
  }
  while (outlook->pending > 0) {
    if (!needed && outlook->answered.size() >= quorum::majority_of(nodes.size())) {
      limit = limit.sooner(begin + std::max<Duration>(kStragglers, 3 * (runtime_.now() - begin)));
    }
    outlook->changed->reset();
    if (co_await outlook->changed->wait(limit) == Woken::timed_out) break;
  }
  co_return *outlook;
}

Task<Membership::Nodes> Membership::tend_all(Nodes nodes, redis::Script& script,
                                             redis::Words arguments, Deadline deadline) {
  Outlook outlook =
      co_await tend_each(std::move(nodes), script, std::move(arguments), deadline, false);
  co_return std::move(outlook.answered);
}

Task<Membership::Nodes> Membership::look(Nodes nodes, Deadline deadline) {
  redis::Words nothing;
  return tend_all(std::move(nodes), scripts_.look, std::move(nothing), deadline);
}

Task<bool> Membership::rewrite(std::size_t node, std::string from, std::string to,
                               Deadline deadline, std::optional<std::int64_t> silence_ms) {
  redis::Words arguments{from, to};
  if (silence_ms) arguments.add(*silence_ms);
  redis::Script& script = silence_ms ? scripts_.join : scripts_.change;
  Nodes alone{node};
  const Nodes told = co_await tend_all(std::move(alone), script, std::move(arguments), deadline);
  co_return !told.empty();
}

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<bool>> Membership::open(Duration ttl, Deadline deadline) {
  // Others may be about the same, and then it takes a moment until all agree.
  constexpr int kMaxTries = 20;
  constexpr Duration kPause = std::chrono::milliseconds(2);
  for (int tries = 1;; ++tries) {
    const Result<bool> done = co_await open_once(ttl, deadline);
    const BootTime again = runtime_.now() + runtime_.jitter(kPause * tries, 0.5);
    const bool last = tries >= kMaxTries || deadline.passed(again);
    if (!done || *done || !in_motion()) co_return done;
    if (last) {
      if (std::optional<Failure> why = hopeless(everybody())) co_return *why;
      co_return false;
    }
    static_cast<void>(co_await sleep_until(runtime_, again, background_.stop_token()));
  }
}

bool Membership::in_motion() const {
  const auto moving = std::count_if(voters_.begin(), voters_.end(), [](const auto& voter) {
    const bool silent = voter->state() == State::joining && voter->silent_for() > Duration(0);
    return voter->marker_known() && !silent;
  });
  return static_cast<std::size_t>(moving) >= majority();
}

Task<Result<bool>> Membership::open_once(Duration ttl, Deadline deadline) {
  redis::Words nothing;
  const Outlook outlook =
      co_await tend_each(everybody(), scripts_.look, std::move(nothing), deadline, false);
  const Nodes& seen = outlook.answered;
  // One that is not fit to vote costs its vote, as one that is down.
  if (seen.size() < majority()) {
    const std::string why = outlook.why.empty() ? "the others do not answer" : outlook.why;
    co_return Failure(outlook.code, "only " + std::to_string(seen.size()) + " of " +
                                        std::to_string(size()) + " nodes can vote, and " +
                                        std::to_string(majority()) + " are needed (" + why + ")");
  }
  if (std::optional<Failure> why = misfit(seen)) co_return *why;
  for (const std::size_t node : seen) hear_of(node);
  co_await mark_restarted(seen, deadline);
  co_await begin_silence_anew(seen, deadline);
  const std::int64_t ttl_ms = redis::milliseconds_of(ttl);
  const Nodes unused = in_state(seen, State::founding);
  if (in_state(seen, State::blank).size() + unused.size() == seen.size()) {
    const Result<void> done =
        co_await found(seen, std::max(options_.usual_longest_ms, ttl_ms), deadline);
    if (!done) co_return done.failure();
  } else if (const Nodes open = in_state(seen, State::open);
             open.size() >= majority_of_others(size())) {
    co_await bring_back(seen, open, deadline);
  } else {
    co_await refound(seen, open, deadline);
  }
  pass_if_forgotten(in_state(seen, State::open));
  // Nodes that missed an epoch, or do not know of so long a ttl.
  const std::int64_t longest = std::max(longest_ms(seen), ttl_ms);
  Nodes behind;
  for (const std::size_t node : in_state(seen, State::open)) {
    const Marker& marker = voters_[node]->marker();
    if (marker.epoch < era_ || marker.longest_ms < longest) behind.push_back(node);
  }
  if (!behind.empty()) co_await raise(std::move(behind), longest, deadline);
  if (!established_) co_await establish(in_state(seen, State::open), deadline);
  const auto voting =
      std::count_if(seen.begin(), seen.end(), [&](std::size_t node) { return votes_in_era(node); });
  co_return established_&& static_cast<std::size_t>(voting) >= majority();
}

// Epochs only grow, and a majority had ours: a majority that has older ones was refounded by nodes
// that did not remember it, by clocks that are behind. They may have voted in ours.
void Membership::pass_if_forgotten(const Nodes& open) {
  const auto behind = std::count_if(open.begin(), open.end(), [&](std::size_t node) {
    return voters_[node]->marker().epoch < era_;
  });
  if (!established_ || static_cast<std::size_t>(behind) < majority()) return;
  static_cast<void>(pass_what_was_forgotten(open));
}

// All clients must mean the same nodes.
std::optional<Failure> Membership::misfit(const Nodes& seen) const {
  for (const std::size_t node : seen) {
    const Marker& marker = voters_[node]->marker();
    if (marker.state == State::blank || marker.nodes == size()) continue;
    return Failure(Code::misconfigured,
                   voters_[node]->display() + " belongs to a Redlock of " +
                       std::to_string(marker.nodes) + " nodes, and the URL names " +
                       std::to_string(size()) +
                       "; all clients must name the same nodes. (To change them: stop all clients, "
                       "then delete the key holdfast:redlock, with your prefix, on every node)");
  }
  return std::nullopt;
}

// So many have lost their data that neither can they ask enough of the others, nor do enough others
// remember anything to go on from.
std::optional<Failure> Membership::hopeless(const Nodes& seen) const {
  std::size_t closed = 0;
  std::size_t lost = 0;
  std::size_t unused = 0;
  for (const std::size_t node : seen) {
    const State state = voters_[node]->state();
    if (state == State::unseen || state == State::open) continue;
    ++closed;
    if (!voters_[node]->remembers()) ++lost;
    if (state == State::blank || state == State::founding) ++unused;
  }
  const bool can_found = unused == size();
  const bool can_join = size() - closed >= majority_of_others(size());
  const bool can_refound = size() - lost >= majority();
  if (can_found || can_join || can_refound) return std::nullopt;
  return Failure(Code::misconfigured,
                 std::to_string(lost) + " of " + std::to_string(size()) +
                     " nodes have lost their data: nobody knows any more what was locked. " +
                     kBeginAnew);
}

// In two steps, because clients may do it at the same time: none of the nodes votes before a majority
// of them was found unused. A node is opened only by a client that found it unused, and only if its marker
// is still the one that was found: it may have voted and lost its data since.
Task<Result<void>> Membership::found(const Nodes& seen, std::int64_t longest, Deadline deadline) {
  if (seen.size() < size()) {
    redis::Words nothing;
    const Outlook outlook =
        co_await tend_each(everybody(), scripts_.look, std::move(nothing), deadline, true);
    if (outlook.answered.size() < size()) {
      co_return Failure(
          outlook.code,
          "these nodes are used for the first time, or have lost their data; then all "
          "of them must be there (" +
              (outlook.why.empty() ? "one does not answer" : outlook.why) + ")");
    }
    for (const std::size_t node : outlook.answered) hear_of(node);
    const Nodes blank = in_state(everybody(), State::blank);
    if (blank.size() + in_state(everybody(), State::founding).size() < size()) {
      co_return Result<void>();  // Somebody else was faster.
    }
  }
  redis::Words as{std::to_string(nonce()), std::to_string(size())};
  const Nodes told = co_await tend_all(everybody(), scripts_.found, std::move(as), deadline);
  std::map<std::size_t, Marker> founding;
  for (const std::size_t node : in_state(told, State::founding)) {
    founding[node] = voters_[node]->marker();
  }
  if (founding.size() < majority()) co_return Result<void>();
  const quorum::Era epoch = new_epoch();
  for (const auto& [node, found] : founding) {
    co_await rewrite(node, found.text, found.open_text(epoch, longest, size(), nonce(), 0),
                     deadline);
    hear_of(node);
  }
  co_return Result<void>();
}

Task<void> Membership::raise(Nodes nodes, std::int64_t longest, Deadline deadline) {
  redis::Words to{std::to_string(era_.number), std::to_string(era_.nonce), std::to_string(longest),
                  established_ ? "1" : "0", std::to_string(floor_)};
  const Nodes told = co_await tend_all(std::move(nodes), scripts_.raise, std::move(to), deadline);
  for (const std::size_t node : told) hear_of(node);
}

// A majority that shows the epoch, and then shows it again without having lost anything, had it at
// the moment between.
Task<void> Membership::establish(Nodes nodes, Deadline deadline) {
  std::map<std::size_t, std::string> before;
  for (const std::size_t node : nodes) {
    if (votes_in_era(node)) before[node] = voters_[node]->marker().text;
  }
  if (before.size() < majority()) co_return;
  const quorum::Era era = era_;
  const Nodes told = co_await look(std::move(nodes), deadline);
  std::size_t unchanged = 0;
  for (const std::size_t node : told) {
    const auto shown = before.find(node);
    if (shown != before.end() && shown->second == voters_[node]->marker().text) ++unchanged;
    hear_of(node);
  }
  if (unchanged < majority() || era_ != era) co_return;
  established_ = true;
  // Once true, always true: the next client need not find out.
  Nodes open = in_state(told, State::open);
  co_await raise(std::move(open), 0, deadline);
}

}  // namespace holdfast::internal::redlock
