// Lines: each lock that somebody waits for as one row of entries, its holders and then its waiters in order, with owners
// as numbers. Claims without an owner are left out. Pure values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "holdfast/deadlock.h"

namespace holdfast::internal {

inline constexpr std::size_t kModes = 3;

constexpr std::size_t number_of(Mode mode) { return static_cast<std::size_t>(mode); }

// Whether one must be gone before the other can hold. Permits do not: they are counted.
constexpr bool conflicts(Mode one, Mode other) { return one != other || one == Mode::exclusive; }

// A claim, as its own owner sees it.
enum class Role : std::uint8_t {
  holds,
  waits,    // the owner goes on when this is granted
  perhaps,  // the owner has a share of the lock and wants another: with one thread, as `waits`
  self,     // waits for the owner's own hold: with one thread, for ever
  repeats,  // the owner waits for this lock already, so it has threads that do not wait for each other
};

struct Entry {
  std::uint32_t owner = 0;
  Mode mode = Mode::exclusive;
  Role role = Role::holds;
  std::uint32_t index = 0;  // in LockInfo::holders or waiters
};

struct Line {
  const EngineLocks* engine = nullptr;
  const LockInfo* lock = nullptr;
  std::uint32_t permits = 1;
  std::uint32_t holders = 0;  // so many entries hold; the others wait
  std::vector<Entry> entries;

  // An entry at `position` waits for entries before this.
  std::uint32_t limit(std::uint32_t position) const {
    return engine->fairness == Fairness::fifo ? position : holders;
  }
  const HolderInfo& holder(const Entry& entry) const { return lock->holders[entry.index]; }
  const WaiterInfo& waiter(const Entry& entry) const { return lock->waiters[entry.index]; }
};

struct Lines {
  std::vector<std::string_view> owners;  // by number; they live as long as the look
  std::vector<Line> lines;
};

Lines lines_of(std::span<const EngineLocks> look);

}  // namespace holdfast::internal
