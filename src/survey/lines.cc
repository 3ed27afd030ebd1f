#include "survey/lines.h"

#include <algorithm>
#include <unordered_map>

namespace holdfast::internal {

namespace {

// The claims of an owner in the line that is being built.
struct Standing {
  std::uint32_t line = 0;  // counted from 1: what was noted for another line is over
  bool waits = false;
  bool holds = false;
  Mode held{};
};

class LinesBuilder {
 public:
  void add(const EngineLocks& engine, const LockInfo& lock) {
    if (lock.waiters.empty()) return;
    Line& line = made_.lines.emplace_back(Line{.engine = &engine, .lock = &lock});
    for (std::uint32_t i = 0; i < lock.holders.size(); ++i) add_holder(line, lock.holders[i], i);
    line.holders = static_cast<std::uint32_t>(line.entries.size());
    line.permits = permits_of(lock);
    for (std::uint32_t i = 0; i < lock.waiters.size(); ++i) add_waiter(line, lock.waiters[i], i);
    if (line.entries.size() == line.holders) made_.lines.pop_back();
  }

  Lines take() { return std::move(made_); }

 private:
  // Where the engine does not tell, all of them are taken.
  static std::uint32_t permits_of(const LockInfo& lock) {
    if (lock.permits > 0) return lock.permits;
    const auto held = std::ranges::count(lock.holders, Mode::permit, &HolderInfo::mode);
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(held));
  }

  void add_holder(Line& line, const HolderInfo& holder, std::uint32_t index) {
    // One without an owner counts as one that can go on, so a permit of its may become free.
    if (holder.owner.empty()) return;
    const std::uint32_t owner = number(holder.owner);
    Standing& standing = standing_of(owner);
    standing.holds = true;
    standing.held = holder.mode;
    line.entries.push_back({owner, holder.mode, Role::holds, index});
  }

  void add_waiter(Line& line, const WaiterInfo& waiter, std::uint32_t index) {
    if (waiter.owner.empty()) return;
    const std::uint32_t owner = number(waiter.owner);
    Standing& standing = standing_of(owner);
    line.entries.push_back({owner, waiter.mode, role_of(standing, waiter.mode), index});
    standing.waits = true;
  }

  static Role role_of(const Standing& standing, Mode mode) {
    if (standing.waits) return Role::repeats;
    if (!standing.holds) return Role::waits;
    return conflicts(standing.held, mode) ? Role::self : Role::perhaps;
  }

  std::uint32_t number(std::string_view owner) {
    const auto [at, fresh] = numbers_.try_emplace(owner, made_.owners.size());
    if (fresh) {
      made_.owners.push_back(owner);
      standings_.emplace_back();
    }
    return at->second;
  }

  Standing& standing_of(std::uint32_t owner) {
    const auto line = static_cast<std::uint32_t>(made_.lines.size());
    if (standings_[owner].line != line) standings_[owner] = {.line = line};
    return standings_[owner];
  }

  Lines made_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::vector<Standing> standings_;
};

}  // namespace

Lines lines_of(std::span<const EngineLocks> look) {
  LinesBuilder builder;
  for (const EngineLocks& engine : look) {
    for (const LockInfo& lock : engine.locks) builder.add(engine, lock);
  }
  return builder.take();
}

}  // namespace holdfast::internal
