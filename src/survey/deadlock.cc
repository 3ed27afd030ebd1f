#include "holdfast/deadlock.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "survey/circles.h"

namespace holdfast {

namespace {

using internal::Circles;
using internal::Entry;
using internal::kModes;
using internal::kNoCircle;
using internal::Line;
using internal::Lines;
using internal::number_of;
using internal::Reading;
using internal::Role;
using internal::StuckBefore;

// An entry of an owner that is in a circle.
struct Member {
  std::uint32_t circle = 0;
  std::uint32_t position = 0;
  bool blocked_by[kModes] = {};  // for a wait: by stuck entries of this mode
};

// Tells the circles of one reading in words.
class Teller {
 public:
  Teller(const Lines& all, Reading reading, const std::vector<bool>& stuck)
      : all_(all), reading_(reading), stuck_(stuck), circles_(find_circles(all, reading, stuck)) {}

  std::vector<Deadlock> tell() {
    told_.resize(circles_.count());
    for (std::size_t i = 0; i < told_.size(); ++i) {
      told_[i].behind = circles_.behind[i];
      told_[i].only_possible = reading_ == Reading::possible;
    }
    if (!told_.empty()) std::ranges::for_each(all_.lines, [this](const Line& each) { tell(each); });
    return std::move(told_);
  }

 private:
  void tell(const Line& line) {
    std::vector<Member> members = members_of(line);
    std::ranges::stable_sort(members, {}, &Member::circle);
    for (auto begin = members.begin(); begin != members.end();) {
      const auto end =
          std::ranges::upper_bound(begin, members.end(), begin->circle, {}, &Member::circle);
      for (auto at = begin; at != end; ++at) tell_wait(line, {begin, end}, *at);
      begin = end;
    }
  }

  std::vector<Member> members_of(const Line& line) const {
    std::vector<Member> members;
    StuckBefore before(line);
    for (std::uint32_t i = 0; i < line.entries.size(); ++i) {
      const Entry& entry = line.entries[i];
      if (!stuck_[entry.owner]) continue;
      Member member{.circle = circles_.of_owner[entry.owner], .position = i};
      for (std::size_t mode = 0; mode < kModes; ++mode) {
        member.blocked_by[mode] = before.blocks(static_cast<Mode>(mode), entry.mode);
      }
      if (member.circle != kNoCircle) members.push_back(member);
      before.pass(i);
    }
    return members;
  }

  void tell_wait(const Line& line, std::span<const Member> members, const Member& member) {
    const Entry& entry = line.entries[member.position];
    const bool own = entry.role == Role::self && reading_ == Reading::possible;
    if (!own && !counts(entry.role, reading_)) return;
    const WaiterInfo& waiter = line.waiter(entry);
    Deadlock::Wait wait{.owner = waiter.owner,
                        .label = waiter.label,
                        .engine = line.engine->engine,
                        .name = line.lock->name,
                        .mode = waiter.mode,
                        .waited_for = waiter.waited_for,
                        .id = waiter.id,
                        .waits_for = {}};
    add_holders(line, members, member, own, wait);
    if (!own) add_those_ahead(line, members, member, wait);
    if (!wait.waits_for.empty()) told_[member.circle].waits.push_back(std::move(wait));
  }

  static void add_holders(const Line& line, std::span<const Member> members, const Member& member,
                          bool own, Deadlock::Wait& wait) {
    for (const Member& other : members) {
      const Entry& entry = line.entries[other.position];
      if (entry.role != Role::holds || wait.waits_for.size() == Deadlock::kMostBlockers) return;
      if (!member.blocked_by[number_of(entry.mode)]) continue;
      const HolderInfo& holder = line.holder(entry);
      if (own && holder.owner != wait.owner) continue;
      wait.waits_for.push_back({holder.owner, holder.label, holder.token, holder.id});
    }
  }

  void add_those_ahead(const Line& line, std::span<const Member> members, const Member& member,
                       Deadlock::Wait& wait) const {
    const std::uint32_t limit = line.limit(member.position);
    const auto here = std::ranges::lower_bound(members, limit, {}, &Member::position);
    for (auto at = here; at != members.begin();) {
      const Entry& entry = line.entries[(--at)->position];
      if (entry.role == Role::holds || wait.waits_for.size() == Deadlock::kMostBlockers) return;
      if (!member.blocked_by[number_of(entry.mode)]) continue;
      const WaiterInfo& ahead = line.waiter(entry);
      wait.waits_for.push_back({ahead.owner, ahead.label, {}, ahead.id});
      // It waits for all that are further ahead, or for others that do. Shared ones do not wait for each other.
      if (entry.mode != Mode::shared && counts(entry.role, reading_)) return;
    }
  }

  const Lines& all_;
  Reading reading_;
  const std::vector<bool>& stuck_;
  Circles circles_;
  std::vector<Deadlock> told_;
};

// Longest first; a wait whose length nobody knows comes last.
bool began_earlier(const Deadlock::Wait& one, const Deadlock::Wait& other) {
  return one.waited_for.value_or(Duration(-1)) > other.waited_for.value_or(Duration(-1));
}

// From the oldest wait to one of an owner that it waits for, and so on; then from the oldest that is left.
std::vector<Deadlock::Wait> along_the_circle(std::vector<Deadlock::Wait> waits) {
  std::ranges::stable_sort(waits, began_earlier);
  std::unordered_multimap<std::string_view, std::size_t> by_owner;
  for (std::size_t i = waits.size(); i-- > 0;) by_owner.emplace(waits[i].owner, i);
  std::vector<std::size_t> order;
  std::vector<bool> taken(waits.size());
  const auto next_after = [&](const Deadlock::Wait& wait) {
    for (const Deadlock::Blocker& blocker : wait.waits_for) {
      const auto [begin, end] = by_owner.equal_range(blocker.owner);
      for (auto at = begin; at != end; ++at) {
        if (!taken[at->second]) return at->second;
      }
    }
    return waits.size();
  };
  for (std::size_t first = 0; first < waits.size(); ++first) {
    for (std::size_t i = first; i < waits.size() && !taken[i]; i = next_after(waits[i])) {
      taken[i] = true;
      order.push_back(i);
    }
  }
  std::vector<Deadlock::Wait> ordered;
  ordered.reserve(waits.size());
  for (const std::size_t i : order) ordered.push_back(std::move(waits[i]));
  return ordered;
}

void finish(Deadlock& deadlock) {
  deadlock.waits = along_the_circle(std::move(deadlock.waits));
  std::unordered_set<std::string_view> seen;
  const Deadlock::Wait* youngest = nullptr;
  for (const Deadlock::Wait& wait : deadlock.waits) {
    if (seen.insert(wait.owner).second) deadlock.owners.push_back({wait.owner, wait.label});
    if (wait.waited_for && (!youngest || wait.waited_for < youngest->waited_for)) youngest = &wait;
  }
  if (youngest) deadlock.youngest = youngest->owner;
}

}  // namespace

std::vector<Deadlock> find_deadlocks(std::span<const EngineLocks> look) {
  const Lines all = internal::lines_of(look);
  const std::vector<bool> nobody(all.owners.size());
  const std::vector<bool> stuck = stuck_owners(all, Reading::certain, nobody);
  std::vector<Deadlock> found = Teller(all, Reading::certain, stuck).tell();
  // Those that are surely stuck need no second reason.
  const std::vector<bool> perhaps_stuck = stuck_owners(all, Reading::possible, stuck);
  std::ranges::move(Teller(all, Reading::possible, perhaps_stuck).tell(),
                    std::back_inserter(found));
  std::ranges::for_each(found, finish);
  return found;
}

}  // namespace holdfast
