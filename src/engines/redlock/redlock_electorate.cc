#include "engines/redlock/redlock_electorate.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "engines/quorum/tally.h"
#include "engines/redlock/redlock_engine.h"

namespace holdfast::internal::redlock {

namespace {

// What a claim may have without anybody having to be told.
constexpr std::int64_t kUsualLongestMs = 60'000;

// Of the nodes beside one: enough to meet every majority that this one was part of.
std::size_t majority_of_others(std::size_t nodes) { return (nodes - 1) / 2 + 1; }

}  // namespace

struct RedlockElectorate::Outlook {
  explicit Outlook(Runtime& runtime) : changed(runtime) {}
  std::vector<std::size_t> answered;
  std::size_t pending = 0;
  std::optional<Failure> failure;
  Event changed;
};

RedlockElectorate::RedlockElectorate(Runtime& runtime, const std::vector<redis::Settings>& nodes,
                                     const quorum::QuorumOptions& options,
                                     std::shared_ptr<Observer> observer)
    : runtime_(runtime),
      options_(options),
      observer_(std::move(observer)),
      guarantees_(redlock_guarantees()),
      opened_(runtime),
      background_(runtime) {
  guarantees_.recipe = std::to_string(quorum::majority_of(nodes.size())) + " of " +
                       std::to_string(nodes.size()) + " masters";
  for (const redis::Settings& node : nodes) {
    voters_.push_back(std::make_unique<RedisVoter>(runtime, node, scripts_, options.node_timeout,
                                                   [this] { on_identity(); }));
  }
}

// ---- Who they are ------------------------------------------------------------------------------

void RedlockElectorate::warn(const std::string& text) {
  if (observer_) observer_->on_warning(text);
}

// Two names of one server would give it two votes.
void RedlockElectorate::on_identity() {
  std::map<std::string, std::string> known;
  std::string forgetful;
  std::size_t told = 0;
  problem_.reset();
  for (const auto& voter : voters_) {
    const Identity& identity = voter->identity();
    if (identity.run_id.empty()) continue;
    ++told;
    const auto [place, fresh] = known.emplace(identity.run_id, voter->endpoint().display());
    if (!fresh) {
      problem_ = Failure(Code::misconfigured,
                         place->second + " and " + voter->endpoint().display() +
                             " are the same Redis server; Redlock needs independent ones");
    }
    if (!identity.keeps_data) {
      forgetful += (forgetful.empty() ? "" : ", ") + voter->endpoint().display();
    }
    if (!identity.evicts.empty() && !warned_) {
      warned_ = true;
      warn("Redis at " + voter->endpoint().display() +
           " may evict locks when its memory is full (maxmemory-policy " + identity.evicts +
           "): set noeviction, or use a server of its own for locks");
    }
  }
  guarantees_.notes = redlock_guarantees().notes;
  if (!forgetful.empty()) {
    guarantees_.notes += " These nodes keep nothing on disk (appendonly no): " + forgetful +
                         "; one that restarts is silent for the longest ttl, and if a majority "
                         "restarts at once, locks are lost.";
  }
}

// ---- Looking after them ------------------------------------------------------------------------

quorum::Era RedlockElectorate::new_epoch() {
  // Later than any that is known; and nobody else's, even if another client does the same now.
  return quorum::Era{std::max(era_.number + 1, wall_ms()), nonce()};
}

std::uint64_t RedlockElectorate::wall_ms() const {
  const auto since_epoch = runtime_.wall().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms, 1));
}

void RedlockElectorate::hear_of(const Marker& marker) {
  if (marker.epoch > era_) {
    era_ = marker.epoch;
    established_ = false;
  }
  if (marker.votes() && marker.epoch == era_ && marker.established) established_ = true;
}

std::string RedlockElectorate::state() const {
  std::string text;
  for (const auto& voter : voters_) {
    std::string what;
    if (!voter->marker_known()) {
      what = "has not answered";
    } else if (voter->marker().state == Marker::State::joining ||
               voter->marker().state == Marker::State::marked) {
      what = "has lost its data and is silent for a while";
    } else if (!voter->marker().votes()) {
      what = "has never voted";
    }
    if (!what.empty()) {
      text += (text.empty() ? "" : "; ") + voter->endpoint().display() + " " + what;
    }
  }
  return text;
}

std::vector<std::size_t> RedlockElectorate::in_state(const std::vector<std::size_t>& nodes,
                                                     Marker::State state) const {
  std::vector<std::size_t> found;
  for (const std::size_t node : nodes) {
    if (voters_[node]->marker().state == state) found.push_back(node);
  }
  return found;
}

std::int64_t RedlockElectorate::longest_ms(const std::vector<std::size_t>& nodes) const {
  std::int64_t longest = kUsualLongestMs;
  for (const std::size_t node : nodes) {
    longest = std::max(longest, voters_[node]->marker().longest_ms);
  }
  return longest;
}

Task<void> RedlockElectorate::tend(std::size_t node, redis::Script& script,
                                   std::vector<std::string> arguments, Deadline deadline,
                                   std::shared_ptr<Outlook> outlook) {
  RedisVoter& voter = *voters_[node];
  Result<void> done(Failure(Code::unreachable, {}));
  if (voter.responsive()) done = co_await voter.ready(deadline);
  if (done) done = co_await voter.tend(script, std::move(arguments), deadline);
  if (done) {
    outlook->answered.push_back(node);
  } else if (done.code() == Code::misconfigured && !outlook->failure) {
    outlook->failure = done.failure();
  }
  --outlook->pending;
  outlook->changed.set();
}

Task<std::vector<std::size_t>> RedlockElectorate::tend_all(std::vector<std::size_t> nodes,
                                                           redis::Script& script,
                                                           std::vector<std::string> arguments,
                                                           Deadline deadline) {
  // Slow nodes are not waited for much longer than a majority; without one, patience is needed.
  constexpr Duration kStragglers = std::chrono::milliseconds(5);
  const auto outlook = std::make_shared<Outlook>(runtime_);
  outlook->pending = nodes.size();
  const BootTime begin = runtime_.now();
  Deadline limit = deadline.sooner(begin + 4 * options_.node_timeout);
  TaskGroup group(runtime_);
  for (const std::size_t node : nodes) {
    group.spawn(tend(node, script, arguments, limit, outlook));
  }
  while (outlook->pending > 0) {
    if (outlook->answered.size() >= quorum::majority_of(nodes.size())) {
      limit = limit.sooner(begin + std::max<Duration>(kStragglers, 3 * (runtime_.now() - begin)));
    }
    outlook->changed.reset();
    if (co_await outlook->changed.wait(limit) == Woken::timed_out) break;
  }
  if (outlook->failure && !problem_) problem_ = outlook->failure;
  co_return outlook->answered;
}

Task<Result<bool>> RedlockElectorate::open(Duration ttl, Deadline deadline) {
  if (opening_) {  // Somebody is at it: the news are for all.
    static_cast<void>(co_await opened_.wait(deadline));
    co_return true;
  }
  opening_ = true;
  opened_.reset();
  // Others may be about the same, and then it takes a moment until all agree.
  constexpr int kMostTries = 20;
  constexpr Duration kPause = std::chrono::milliseconds(2);
  Result<bool> done = co_await do_open(ttl, deadline);
  for (int tries = 1; done && !*done && in_motion() && tries < kMostTries; ++tries) {
    const BootTime again = runtime_.now() + runtime_.jitter(kPause * tries, 0.5);
    if (deadline.passed(again)) break;
    static_cast<void>(co_await sleep_until(runtime_, again, background_.stop_token()));
    done = co_await do_open(ttl, deadline);
  }
  if (done && amnesia_ != 0) {
    done =
        Failure(Code::misconfigured,
                std::to_string(amnesia_) + " of " + std::to_string(size()) +
                    " nodes have lost their data: nobody knows any more what was locked. When no "
                    "lock is held, delete the key holdfast:redlock, with your prefix, on the "
                    "other nodes to begin anew");
  }
  looked_at_ = runtime_.now();
  opening_ = false;
  opened_.set();
  co_return done;
}

// Enough nodes are there, but they are being founded, or do not agree on the epoch yet.
bool RedlockElectorate::in_motion() const {
  const auto there = std::count_if(voters_.begin(), voters_.end(), [](const auto& voter) {
    return voter->marker_known() &&
           (voter->marker().votes() || voter->marker().state == Marker::State::founding ||
            voter->marker().state == Marker::State::blank);
  });
  return static_cast<std::size_t>(there) >= quorum::majority_of(size());
}

void RedlockElectorate::look_after() {
  constexpr Duration kPause = std::chrono::milliseconds(500);
  if (opening_ || runtime_.now() - looked_at_ < kPause) return;
  const bool well = std::all_of(voters_.begin(), voters_.end(), [&](const auto& voter) {
    return !voter->marker_known() || (voter->marker().votes() && voter->marker().epoch == era_);
  });
  if (well) return;
  looked_at_ = runtime_.now();
  background_.spawn(open_in_background());
}

Task<void> RedlockElectorate::open_in_background() {
  static_cast<void>(
      co_await open(Duration(0), Deadline::at(runtime_.now() + options_.request_timeout)));
}

Task<Result<bool>> RedlockElectorate::do_open(Duration ttl, Deadline deadline) {
  using State = Marker::State;
  std::vector<std::size_t> everybody(size());
  for (std::size_t node = 0; node < size(); ++node) everybody[node] = node;
  on_identity();
  std::vector<std::string> nothing;
  const std::vector<std::size_t> seen =
      co_await tend_all(everybody, scripts_.look, std::move(nothing), deadline);
  if (problem_) co_return *problem_;
  const std::int64_t ttl_ms = redis::milliseconds_of(ttl);
  for (const std::size_t node : seen) {
    const Marker& marker = voters_[node]->marker();
    if (marker.state != State::blank && marker.nodes != size()) {
      co_return Failure(
          Code::misconfigured,
          voters_[node]->display() + " belongs to a Redlock of " + std::to_string(marker.nodes) +
              " nodes, and the URL names " + std::to_string(size()) +
              "; all clients must name the same nodes. (To change them: stop all clients, then "
              "delete the key holdfast:redlock, with your prefix, on every node)");
    }
    hear_of(marker);
  }
  const std::size_t majority = quorum::majority_of(size());
  const std::vector<std::size_t> blank = in_state(seen, State::blank);
  const std::vector<std::size_t> founding = in_state(seen, State::founding);
  if (blank.size() + founding.size() == seen.size()) {
    if (seen.size() >= majority) {
      co_await found(seen, std::max(kUsualLongestMs, ttl_ms), deadline);
    }
  } else if (!founding.empty()) {
    // Not finished by whoever began it. Such a node has never voted.
    co_await settle(founding, era_, longest_ms(seen), deadline);
  }
  const std::vector<std::size_t> open = in_state(seen, State::open);
  if (open.size() >= majority_of_others(size())) {
    co_await bring_back(seen, blank, open, deadline);
  }
  // Nodes that missed an epoch, or do not know of so long a ttl.
  const std::int64_t longest = std::max(longest_ms(seen), ttl_ms);
  std::vector<std::size_t> behind;
  for (const std::size_t node : in_state(seen, State::open)) {
    const Marker& marker = voters_[node]->marker();
    if (marker.epoch < era_ || marker.longest_ms < longest) behind.push_back(node);
  }
  if (!behind.empty()) co_await raise(std::move(behind), longest, deadline);
  if (!established_) co_await establish(in_state(seen, State::open), deadline);
  std::size_t voting = 0;
  for (const std::size_t node : in_state(seen, State::open)) {
    if (voters_[node]->marker().epoch == era_) ++voting;
  }
  const bool enough = established_ && voting >= majority;
  const std::size_t lost = in_state(seen, State::blank).size();
  amnesia_ = !enough && lost >= majority && !in_state(seen, State::open).empty() ? lost : 0;
  co_return enough;
}

Task<void> RedlockElectorate::raise(std::vector<std::size_t> nodes, std::int64_t longest,
                                    Deadline deadline) {
  std::vector<std::string> to{std::to_string(era_.number), std::to_string(era_.nonce),
                              std::to_string(longest), established_ ? "1" : "0"};
  const std::vector<std::size_t> told =
      co_await tend_all(std::move(nodes), scripts_.raise, std::move(to), deadline);
  for (const std::size_t node : told) hear_of(voters_[node]->marker());
}

// A majority that shows the epoch, and then shows it again without having lost anything, had it at
// the moment between.
Task<void> RedlockElectorate::establish(std::vector<std::size_t> nodes, Deadline deadline) {
  std::map<std::size_t, std::string> before;
  for (const std::size_t node : nodes) {
    const Marker& marker = voters_[node]->marker();
    if (marker.votes() && marker.epoch == era_) before[node] = marker.text;
  }
  const std::size_t majority = quorum::majority_of(size());
  if (before.size() < majority) co_return;
  std::vector<std::string> nothing;
  const quorum::Era era = era_;
  const std::vector<std::size_t> told =
      co_await tend_all(std::move(nodes), scripts_.look, std::move(nothing), deadline);
  std::size_t unchanged = 0;
  for (const std::size_t node : told) {
    const auto place = before.find(node);
    if (place != before.end() && place->second == voters_[node]->marker().text) ++unchanged;
    hear_of(voters_[node]->marker());
  }
  if (unchanged < majority || era_ != era) co_return;
  established_ = true;
  // Once true, always true: the next client need not find out.
  std::vector<std::size_t> open = in_state(told, Marker::State::open);
  co_await raise(std::move(open), 0, deadline);
}

// In two steps: a node that is only being founded has never voted, so whoever finds one after its
// founder died can open it.
Task<void> RedlockElectorate::found(std::vector<std::size_t> nodes, std::int64_t longest,
                                    Deadline deadline) {
  std::vector<std::string> count{std::to_string(size())};
  const std::vector<std::size_t> told =
      co_await tend_all(nodes, scripts_.found, std::move(count), deadline);
  std::vector<std::size_t> founding = in_state(told, Marker::State::founding);
  if (founding.size() < quorum::majority_of(size())) co_return;  // Somebody else was faster.
  co_await settle(std::move(founding), new_epoch(), longest, deadline);
}

Task<void> RedlockElectorate::settle(std::vector<std::size_t> founding, quorum::Era epoch,
                                     std::int64_t longest, Deadline deadline) {
  std::vector<std::string> as{Marker::open_text(epoch, longest, size(), nonce())};
  const std::vector<std::size_t> told =
      co_await tend_all(std::move(founding), scripts_.settle, std::move(as), deadline);
  for (const std::size_t node : told) hear_of(voters_[node]->marker());
}

// ---- A node that lost its data -----------------------------------------------------------------

Task<void> RedlockElectorate::bring_back(const std::vector<std::size_t>& seen,
                                         const std::vector<std::size_t>& blank,
                                         const std::vector<std::size_t>& open, Deadline deadline) {
  // While all are being founded, one may seem to be empty that is only late. Epochs are numbered by
  // the clock.
  constexpr std::int64_t kYoungMs = 3000;
  const auto age_ms = static_cast<std::int64_t>(wall_ms()) - static_cast<std::int64_t>(era_.number);
  if (!blank.empty() && std::abs(age_ms) > kYoungMs) {
    std::vector<std::string> as{std::to_string(nonce()), std::to_string(size())};
    co_await tend_all(blank, scripts_.mark, std::move(as), deadline);
  }
  for (const std::size_t node : in_state(seen, Marker::State::marked)) {
    co_await join(node, open, deadline);
  }
  for (const std::size_t node : in_state(seen, Marker::State::joining)) {
    if (voters_[node]->silent_for() == Duration(0)) co_await finish(node, open, deadline);
  }
}

Task<void> RedlockElectorate::join(std::size_t node, std::vector<std::size_t> open,
                                   Deadline deadline) {
  const Marker marked = voters_[node]->marker();
  // What the others know is asked only now: what came before the mark may be out of date, and the
  // node may have voted in an epoch that we have not heard of.
  std::vector<std::string> nothing;
  const std::vector<std::size_t> asked =
      co_await tend_all(open, scripts_.look, std::move(nothing), deadline);
  const std::vector<std::size_t> others = in_state(asked, Marker::State::open);
  if (others.size() < majority_of_others(size())) co_return;
  for (const std::size_t other : others) hear_of(voters_[other]->marker());
  const quorum::Era epoch = new_epoch();
  era_ = epoch;
  established_ = false;
  const std::int64_t longest = longest_ms(others);
  co_await raise(others, longest, deadline);
  std::size_t raised = 0;
  for (const std::size_t other : others) {
    const Marker& marker = voters_[other]->marker();
    if (marker.votes() && marker.epoch >= epoch) ++raised;
  }
  if (raised < majority_of_others(size())) co_return;
  const std::int64_t silence = longest_ms(others);
  std::vector<std::string> as{marked.text, text_of(epoch), std::to_string(silence),
                              std::to_string(size())};
  std::vector<std::size_t> alone{node};
  co_await tend_all(std::move(alone), scripts_.join, std::move(as), deadline);
  warn(voters_[node]->display() +
       " has lost its data; it votes again when it has been silent for " +
       std::to_string(silence / 1000) + " s");
}

Task<void> RedlockElectorate::finish(std::size_t node, std::vector<std::size_t> open,
                                     Deadline deadline) {
  RedisVoter& joining = *voters_[node];
  const Marker marker = joining.marker();
  std::map<std::string, std::uint64_t> highest;
  std::size_t asked = 0;
  for (const std::size_t other : open) {
    // One that has not heard of the epoch may still take part in what was before it.
    if (voters_[other]->marker().epoch < marker.epoch) continue;
    const Result<RedisVoter::Fences> fences = co_await voters_[other]->fences(deadline);
    if (!fences) continue;
    // It must not have lost its data before we had read all of it.
    std::vector<std::string> nothing;
    const Result<void> looked =
        co_await voters_[other]->tend(scripts_.look, std::move(nothing), deadline);
    const Marker& seen = voters_[other]->marker();
    if (!looked || !seen.votes() || seen.epoch < marker.epoch) continue;
    ++asked;
    for (const auto& [key, token] : *fences) {
      std::uint64_t& known = highest[key];
      known = std::max(known, token);
    }
  }
  if (asked < majority_of_others(size())) co_return;
  RedisVoter::Fences all(highest.begin(), highest.end());
  const Result<void> adopted = co_await joining.adopt(std::move(all), deadline);
  if (!adopted) co_return;
  std::vector<std::string> from_to{
      marker.text, Marker::open_text(marker.epoch, marker.longest_ms, size(), nonce())};
  std::vector<std::size_t> alone{node};
  co_await tend_all(std::move(alone), scripts_.open, std::move(from_to), deadline);
}

}  // namespace holdfast::internal::redlock
