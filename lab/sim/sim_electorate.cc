#include "lab/sim/sim_electorate.h"

#include <algorithm>
#include <map>

#include "engines/quorum/tally.h"

namespace holdfast::lab::sim {

using internal::quorum::Era;
using internal::quorum::majority_of;
using Marker = QuorumNode::Marker;

struct SimElectorate::Outlook {
  explicit Outlook(Runtime& runtime) : changed(runtime) {}
  Nodes answered;
  std::size_t pending = 0;
  Event changed;
};

SimElectorate::SimElectorate(internal::SimRuntime& client,
                             const std::vector<std::unique_ptr<QuorumNode>>& nodes,
                             SimNetwork& network, VoterMarks& marks, VoteWatcher& watcher,
                             const internal::quorum::QuorumOptions& options, Duration silence)
    : client_(client),
      options_(options),
      silence_(silence),
      guarantees_{.engine = "sim",
                  .recipe = "quorum",
                  .exclusion = Exclusion::bounded_by_clocks,
                  .token = TokenStrength::quorum,
                  .wake_up = WakeUp::push,
                  .fairness = Fairness::roughly,
                  .shared_mode = true},
      opened_(client),
      background_(client) {
  for (const auto& node : nodes) {
    voters_.push_back(
        std::make_unique<SimVoter>(client, *node, network, marks, watcher, options.node_timeout));
  }
}

void SimElectorate::set_cut(bool cut) {
  for (const auto& voter : voters_) voter->set_cut(cut);
}

// ---- Asking all of them ------------------------------------------------------------------------

Task<void> SimElectorate::tend(std::size_t node, What what, Deadline deadline,
                               std::shared_ptr<Outlook> outlook) {
  SimVoter& voter = *voters_[node];
  Result<void> done(Failure(Code::unreachable, {}));
  if (voter.responsive()) done = co_await voter.ready(deadline);
  if (done) done = co_await voter.tend(std::move(what), deadline);
  if (done) outlook->answered.push_back(node);
  --outlook->pending;
  outlook->changed.set();
}

Task<SimElectorate::Nodes> SimElectorate::tend_all(Nodes nodes, What what, Deadline deadline) {
  constexpr Duration kStragglers = std::chrono::milliseconds(5);
  const auto outlook = std::make_shared<Outlook>(client_);
  outlook->pending = nodes.size();
  const BootTime begin = client_.now();
  Deadline limit = deadline.sooner(begin + 4 * options_.node_timeout);
  TaskGroup group(client_);
  for (const std::size_t node : nodes) group.spawn(tend(node, what, limit, outlook));
  while (outlook->pending > 0) {
    if (outlook->answered.size() >= majority_of(nodes.size())) {
      limit = limit.sooner(begin + std::max<Duration>(kStragglers, 3 * (client_.now() - begin)));
    }
    outlook->changed.reset();
    if (co_await outlook->changed.wait(limit) == Woken::timed_out) break;
  }
  co_return outlook->answered;
}

SimElectorate::Nodes SimElectorate::in_state(const Nodes& nodes, State state) const {
  Nodes found;
  for (const std::size_t node : nodes) {
    if (voters_[node]->marker().state == state) found.push_back(node);
  }
  return found;
}

// ---- Epochs ------------------------------------------------------------------------------------

Era SimElectorate::new_epoch() {
  const auto since_epoch = client_.wall().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  const auto wall_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms, 1));
  return Era{std::max(era_.number + 1, wall_ms), client_.random() >> 11};
}

void SimElectorate::hear_of(const Marker& marker) {
  if (marker.era > era_) {
    era_ = marker.era;
    established_ = false;
  }
  if (marker.votes() && marker.era == era_ && marker.established) established_ = true;
  floor_ = std::max(floor_, marker.floor);
}

bool SimElectorate::in_motion() const {
  const auto there = std::count_if(voters_.begin(), voters_.end(), [](const auto& voter) {
    return voter->marker_known() && voter->marker().votes();
  });
  return static_cast<std::size_t>(there) >= majority_of(size());
}

Task<Result<bool>> SimElectorate::open(Duration, Deadline deadline) {
  if (opening_) {
    static_cast<void>(co_await opened_.wait(deadline));
    co_return true;
  }
  opening_ = true;
  opened_.reset();
  constexpr int kMaxTries = 20;
  constexpr Duration kPause = std::chrono::milliseconds(2);
  bool done = co_await do_open(deadline);
  for (int tries = 1; !done && in_motion() && tries < kMaxTries; ++tries) {
    const BootTime again = client_.now() + client_.jitter(kPause * tries, 0.5);
    if (deadline.passed(again)) break;
    static_cast<void>(co_await sleep_until(client_, again, background_.stop_token()));
    done = co_await do_open(deadline);
  }
  looked_at_ = client_.now();
  opening_ = false;
  opened_.set();
  co_return done;
}

void SimElectorate::look_after() {
  constexpr Duration kPause = std::chrono::milliseconds(500);
  if (opening_ || client_.now() - looked_at_ < kPause) return;
  const bool well = std::all_of(voters_.begin(), voters_.end(), [&](const auto& voter) {
    return !voter->marker_known() || (voter->marker().votes() && voter->marker().era == era_);
  });
  if (well) return;
  looked_at_ = client_.now();
  background_.spawn(open_in_background());
}

Task<void> SimElectorate::open_in_background() {
  static_cast<void>(
      co_await open(Duration(0), Deadline::at(client_.now() + options_.request_timeout)));
}

Task<bool> SimElectorate::do_open(Deadline deadline) {
  Nodes everybody(size());
  for (std::size_t node = 0; node < size(); ++node) everybody[node] = node;
  const Nodes seen = co_await tend_all(everybody, nullptr, deadline);
  for (const std::size_t node : seen) hear_of(voters_[node]->marker());
  co_await mark(in_state(seen, State::restarted), deadline);
  const Nodes open = in_state(seen, State::open);
  if (open.size() >= majority_of_others(size())) {
    co_await bring_back(seen, open, deadline);
  } else {
    co_await refound(seen, open, deadline);
  }
  const auto behind_of = [this](const Nodes& nodes) {
    Nodes behind;
    for (const std::size_t node : nodes) {
      if (voters_[node]->marker().era < era_) behind.push_back(node);
    }
    return behind;
  };
  Nodes behind = behind_of(in_state(seen, State::open));
  if (established_ && behind.size() >= majority_of(size())) {
    pass_what_was_forgotten(in_state(seen, State::open));
    behind = behind_of(in_state(seen, State::open));
  }
  if (!behind.empty()) co_await raise(std::move(behind), deadline);
  if (!established_) co_await establish(in_state(seen, State::open), deadline);
  std::size_t voting = 0;
  for (const std::size_t node : in_state(seen, State::open)) {
    if (voters_[node]->marker().era == era_) ++voting;
  }
  co_return established_&& voting >= majority_of(size());
}

Task<void> SimElectorate::raise(Nodes nodes, Deadline deadline) {
  What what = [era = era_, established = established_, floor = floor_](QuorumNode& node) {
    node.raise(era, established, floor);
  };
  const Nodes told = co_await tend_all(std::move(nodes), std::move(what), deadline);
  for (const std::size_t node : told) hear_of(voters_[node]->marker());
}

Task<void> SimElectorate::establish(Nodes nodes, Deadline deadline) {
  std::map<std::size_t, Marker> before;
  for (const std::size_t node : nodes) {
    const Marker& marker = voters_[node]->marker();
    if (marker.votes() && marker.era == era_) before[node] = marker;
  }
  if (before.size() < majority_of(size())) co_return;
  const Era era = era_;
  const Nodes told = co_await tend_all(std::move(nodes), nullptr, deadline);
  std::size_t unchanged = 0;
  for (const std::size_t node : told) {
    const auto found = before.find(node);
    if (found != before.end() && found->second == voters_[node]->marker()) ++unchanged;
    hear_of(voters_[node]->marker());
  }
  if (unchanged < majority_of(size()) || era_ != era) co_return;
  established_ = true;
  co_await raise(in_state(told, State::open), deadline);
}

// ---- Nodes that were restarted -----------------------------------------------------------------

Task<void> SimElectorate::mark(const Nodes& nodes, Deadline deadline) {
  if (nodes.empty()) co_return;
  What what = [nonce = client_.random()](QuorumNode& node) { node.mark(nonce); };
  co_await tend_all(nodes, std::move(what), deadline);
}

Task<void> SimElectorate::bring_back(Nodes seen, Nodes open, Deadline deadline) {
  co_await mark(in_state(seen, State::blank), deadline);
  for (const std::size_t node : in_state(seen, State::marked)) co_await join(node, open, deadline);
  for (const std::size_t node : in_state(seen, State::joining)) {
    if (voters_[node]->silent_for() == Duration(0)) co_await finish(node, open, deadline);
  }
}

Task<void> SimElectorate::join(std::size_t node, Nodes open, Deadline deadline) {
  const Marker marked = voters_[node]->marker();
  const Nodes asked = co_await tend_all(open, nullptr, deadline);
  const Nodes others = in_state(asked, State::open);
  if (others.size() < majority_of_others(size())) co_return;
  for (const std::size_t other : others) hear_of(voters_[other]->marker());
  const Era epoch = new_epoch();
  era_ = epoch;
  established_ = false;
  co_await raise(others, deadline);
  Marker to = marked;
  to.era = epoch;
  to.floor = floor_;
  const auto raised = std::count_if(others.begin(), others.end(),
                                    [&](std::size_t other) { return stands_by(other, to); });
  if (!suffice(static_cast<std::size_t>(raised), to)) co_return;
  What what = [marked, to, silence = silence_](QuorumNode& at) { at.join(marked, to, silence); };
  Nodes alone{node};
  co_await tend_all(std::move(alone), std::move(what), deadline);
}

Task<void> SimElectorate::refound(Nodes seen, Nodes open, Deadline deadline) {
  Nodes closed;
  const Marker* newest = nullptr;
  for (const std::size_t node : seen) {
    const Marker& marker = voters_[node]->marker();
    const bool waits = marker.state == State::marked || marker.state == State::joining;
    if (!waits || !marker.remembers()) continue;
    closed.push_back(node);
    const bool refounds = marker.memory == Marker::Memory::refounds;
    if (refounds && (!newest || marker.era > newest->era)) newest = &marker;
  }
  if (closed.empty() || open.size() + closed.size() < majority_of(size())) co_return;
  if (newest) {
    const Marker joining = *newest;
    Nodes sources;
    for (const std::size_t node : seen) {
      if (stands_by(node, joining)) sources.push_back(node);
    }
    if (suffice(sources.size() - 1, joining)) {
      for (const std::size_t node : in_state(sources, State::joining)) {
        if (voters_[node]->silent_for() == Duration(0)) co_await finish(node, sources, deadline);
      }
      co_return;
    }
  }
  co_await begin_refounding(std::move(closed), std::move(open), deadline);
}

Task<void> SimElectorate::begin_refounding(Nodes closed, Nodes open, Deadline deadline) {
  std::map<std::size_t, Marker> before;
  Nodes all = closed;
  all.insert(all.end(), open.begin(), open.end());
  for (const std::size_t node : closed) before[node] = voters_[node]->marker();
  pass_what_was_forgotten(all);
  Marker to;
  to.era = era_;
  to.floor = floor_;
  to.memory = Marker::Memory::refounds;
  if (!open.empty()) co_await raise(open, deadline);
  const auto raised = std::count_if(open.begin(), open.end(),
                                    [&](std::size_t node) { return stands_by(node, to); });
  if (static_cast<std::size_t>(raised) + closed.size() < majority_of(size())) co_return;
  for (const auto& [node, from] : before) {
    What what = [from = from, to, silence = silence_](QuorumNode& at) {
      at.join(from, to, silence);
    };
    Nodes alone{node};
    co_await tend_all(std::move(alone), std::move(what), deadline);
  }
}

void SimElectorate::pass_what_was_forgotten(const Nodes& nodes) {
  constexpr std::uint64_t kHourUs = 3'600'000'000;
  constexpr std::uint64_t kRoom = 1000;
  std::uint64_t clock_us = 0;
  for (const std::size_t node : nodes) clock_us = std::max(clock_us, voters_[node]->clock_us());
  floor_ = clock_us + kHourUs > floor_ ? clock_us + kHourUs : floor_ + kRoom;
  era_ = new_epoch();
  era_.number = std::max(era_.number, clock_us / 1000);
  established_ = false;
}

bool SimElectorate::stands_by(std::size_t other, const Marker& joining) const {
  const Marker& marker = voters_[other]->marker();
  const bool refounds = joining.memory == Marker::Memory::refounds;
  if (marker.votes()) {
    return marker.era >= joining.era && (!refounds || marker.floor >= joining.floor);
  }
  return refounds && marker.state == State::joining && marker.memory == Marker::Memory::refounds &&
         marker.era == joining.era;
}

bool SimElectorate::suffice(std::size_t others, const Marker& joining) const {
  if (joining.memory == Marker::Memory::refounds) return others + 1 >= majority_of(size());
  return others >= majority_of_others(size());
}

Task<void> SimElectorate::finish(std::size_t node, Nodes sources, Deadline deadline) {
  const Marker marker = voters_[node]->marker();
  std::uint64_t highest = 0;
  std::uint64_t floor = marker.floor;
  std::size_t asked = 0;
  for (const std::size_t other : sources) {
    if (other == node || !stands_by(other, marker)) continue;
    const Result<std::uint64_t> fence = co_await voters_[other]->fence_of(deadline);
    if (!fence) continue;
    const Result<void> looked = co_await voters_[other]->tend(nullptr, deadline);
    if (!looked || !stands_by(other, marker)) continue;
    ++asked;
    floor = std::max(floor, voters_[other]->marker().floor);
    highest = std::max(highest, *fence);
  }
  if (!suffice(asked, marker)) co_return;
  const Result<bool> adopted = co_await voters_[node]->adopt(highest, deadline);
  if (!adopted || !*adopted) co_return;
  What what = [marker, floor, nonce = client_.random()](QuorumNode& at) {
    at.open(marker, nonce, floor);
  };
  Nodes alone{node};
  co_await tend_all(std::move(alone), std::move(what), deadline);
}

}  // namespace holdfast::lab::sim
