#include "engines/redlock/redlock_electorate.h"

#include <algorithm>
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
  std::vector<std::size_t> answered;
  Code code = Code::unreachable;  // of those who did not; misconfigured if one of them is
  std::string why;
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

std::uint64_t RedlockElectorate::next_epoch() const {
  // From the clock, so that it is new even where nobody remembers the last one.
  const auto since_epoch = runtime_.wall().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  return std::max(era_ + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms, 1)));
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
  Result<void> done(Failure(Code::unreachable, voter.display() + " does not answer"));
  if (voter.responsive()) done = co_await voter.ready(deadline);
  if (done) done = co_await voter.tend(script, std::move(arguments), deadline);
  if (done) {
    outlook->answered.push_back(node);
    co_return;
  }
  if (done.code() == Code::misconfigured) outlook->code = Code::misconfigured;
  outlook->why += (outlook->why.empty() ? "" : "; ") + done.message();
}

Task<RedlockElectorate::Outlook> RedlockElectorate::tend_each(std::vector<std::size_t> nodes,
                                                              redis::Script& script,
                                                              std::vector<std::string> arguments,
                                                              Deadline deadline) {
  const auto outlook = std::make_shared<Outlook>();
  TaskGroup group(runtime_);
  const Deadline limit = deadline.sooner(runtime_.now() + options_.node_timeout);
  for (const std::size_t node : nodes) {
    group.spawn(tend(node, script, arguments, limit, outlook));
  }
  static_cast<void>(co_await group.join(limit));
  co_return *outlook;
}

Task<std::vector<std::size_t>> RedlockElectorate::tend_all(std::vector<std::size_t> nodes,
                                                           redis::Script& script,
                                                           std::vector<std::string> arguments,
                                                           Deadline deadline) {
  Outlook outlook = co_await tend_each(std::move(nodes), script, std::move(arguments), deadline);
  co_return std::move(outlook.answered);
}

Task<Result<bool>> RedlockElectorate::open(Duration ttl, Deadline deadline) {
  if (opening_) {  // Somebody is at it: the news are for all.
    static_cast<void>(co_await opened_.wait(deadline));
    co_return true;
  }
  opening_ = true;
  opened_.reset();
  const Result<bool> done = co_await do_open(ttl, deadline);
  looked_at_ = runtime_.now();
  opening_ = false;
  opened_.set();
  co_return done;
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
  const std::size_t majority = quorum::majority_of(size());
  std::vector<std::string> nothing;
  const Outlook outlook =
      co_await tend_each(everybody, scripts_.look, std::move(nothing), deadline);
  const std::vector<std::size_t>& seen = outlook.answered;
  if (problem_) co_return *problem_;
  // One that is not fit to vote costs its vote, as one that is down.
  if (seen.size() < majority) {
    const std::string why = outlook.why.empty() ? "the others do not answer" : outlook.why;
    co_return Failure(outlook.code, "only " + std::to_string(seen.size()) + " of " +
                                        std::to_string(size()) + " nodes can vote, and " +
                                        std::to_string(majority) + " are needed (" + why + ")");
  }
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
    era_ = std::max(era_, marker.epoch);
  }
  if (in_state(seen, State::open).empty() && in_state(seen, State::joining).empty()) {
    co_await found(seen, std::max(kUsualLongestMs, ttl_ms), deadline);
    co_return true;
  }
  // Founded, but not finished by whoever began it. Such a node has never voted.
  if (const auto founding = in_state(seen, State::founding); !founding.empty()) {
    std::vector<std::string> as{Marker::open_text(era_, longest_ms(seen), size())};
    co_await tend_all(founding, scripts_.settle, std::move(as), deadline);
  }
  std::vector<std::size_t> open = in_state(seen, State::open);
  const std::vector<std::size_t> blank = in_state(seen, State::blank);
  for (const std::size_t node : blank) {
    if (open.size() >= majority_of_others(size())) co_await join(node, open, deadline);
  }
  for (const std::size_t node : in_state(seen, State::joining)) {
    if (voters_[node]->silent_for() == Duration(0) && open.size() >= majority_of_others(size())) {
      co_await finish(node, open, deadline);
    }
  }
  // Nodes that missed an epoch, or do not know of so long a ttl.
  const std::int64_t longest = std::max(longest_ms(seen), ttl_ms);
  std::vector<std::size_t> behind;
  open = in_state(seen, State::open);
  for (const std::size_t node : open) {
    const Marker& marker = voters_[node]->marker();
    if (marker.epoch < era_ || marker.longest_ms < longest) behind.push_back(node);
  }
  if (!behind.empty()) {
    std::vector<std::string> to{std::to_string(era_), std::to_string(longest)};
    co_await tend_all(behind, scripts_.raise, std::move(to), deadline);
  }
  std::size_t voting = 0;
  for (const std::size_t node : in_state(seen, State::open)) {
    era_ = std::max(era_, voters_[node]->marker().epoch);
  }
  for (const std::size_t node : in_state(seen, State::open)) {
    if (voters_[node]->marker().epoch == era_) ++voting;
  }
  if (voting >= majority) co_return true;
  if (blank.size() >= majority) {
    // Not all were looked at in the same moment: those that were blank may have been founded with
    // the one that is open. By now that is done, so a second look tells.
    std::vector<std::string> none;
    const std::vector<std::size_t> again =
        co_await tend_all(blank, scripts_.look, std::move(none), deadline);
    if (in_state(again, State::blank).size() < majority) co_return true;
    co_return Failure(
        Code::misconfigured,
        std::to_string(blank.size()) + " of " + std::to_string(size()) +
            " nodes have lost their data: nobody knows any more what was locked. When "
            "no lock is held, delete the key holdfast:redlock, with your prefix, on "
            "the other nodes to begin anew");
  }
  co_return false;
}

Task<void> RedlockElectorate::found(std::vector<std::size_t> nodes, std::int64_t longest,
                                    Deadline deadline) {
  // In two steps: a node that is only being founded has never voted, so whoever finds one after its
  // founder died can open it.
  std::vector<std::string> count{std::to_string(size())};
  const std::vector<std::size_t> told =
      co_await tend_all(nodes, scripts_.found, std::move(count), deadline);
  std::vector<std::size_t> founding = in_state(told, Marker::State::founding);
  if (founding.size() < quorum::majority_of(size())) co_return;  // Somebody else was faster.
  std::vector<std::string> as{Marker::open_text(next_epoch(), longest, size())};
  co_await tend_all(founding, scripts_.settle, std::move(as), deadline);
  for (const std::size_t node : founding) era_ = std::max(era_, voters_[node]->marker().epoch);
}

Task<void> RedlockElectorate::join(std::size_t node, std::vector<std::size_t> open,
                                   Deadline deadline) {
  const std::uint64_t epoch = next_epoch();
  const std::int64_t longest = longest_ms(open);
  std::vector<std::string> to{std::to_string(epoch), std::to_string(longest)};
  const std::vector<std::size_t> told =
      co_await tend_all(open, scripts_.raise, std::move(to), deadline);
  std::size_t raised = 0;
  for (const std::size_t other : told) {
    const Marker& marker = voters_[other]->marker();
    if (marker.votes() && marker.epoch >= epoch) ++raised;
    era_ = std::max(era_, marker.epoch);
  }
  if (raised < majority_of_others(size())) co_return;
  std::vector<std::string> as{std::to_string(epoch), std::to_string(longest_ms(told)),
                              std::to_string(size())};
  std::vector<std::size_t> alone{node};
  co_await tend_all(std::move(alone), scripts_.join, std::move(as), deadline);
  const Marker& marker = voters_[node]->marker();
  if (marker.state != Marker::State::joining || marker.epoch != epoch) co_return;
  warn(voters_[node]->display() +
       " has lost its data; it votes again when it has been silent for " +
       std::to_string(longest_ms(told) / 1000) + " s");
}

Task<void> RedlockElectorate::finish(std::size_t node, std::vector<std::size_t> open,
                                     Deadline deadline) {
  RedisVoter& joining = *voters_[node];
  const Marker marker = joining.marker();
  std::map<std::string, std::string> highest;
  const auto token_of = [](const std::string& fence) { return std::stoull(fence); };
  std::size_t asked = 0;
  for (const std::size_t other : open) {
    // One that has not heard of the epoch may still take part in what was before it.
    if (voters_[other]->marker().epoch < marker.epoch) continue;
    const Result<RedisVoter::Fences> fences = co_await voters_[other]->fences(deadline);
    if (!fences) continue;
    ++asked;
    for (const auto& [key, fence] : *fences) {
      if (fence.empty() || fence.front() < '0' || fence.front() > '9') continue;
      std::string& known = highest[key];
      if (known.empty() || token_of(known) < token_of(fence)) known = fence;
    }
  }
  if (asked < majority_of_others(size())) co_return;
  RedisVoter::Fences all(highest.begin(), highest.end());
  const Result<void> adopted = co_await joining.adopt(std::move(all), deadline);
  if (!adopted) co_return;
  std::vector<std::string> from_to{marker.text,
                                   Marker::open_text(marker.epoch, marker.longest_ms, size())};
  std::vector<std::size_t> alone{node};
  co_await tend_all(std::move(alone), scripts_.open, std::move(from_to), deadline);
}

}  // namespace holdfast::internal::redlock
