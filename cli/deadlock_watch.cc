#include "deadlock_watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "deadlock_info.h"
#include "percent.h"

namespace holdfast::cli {
namespace {

// Without how long anybody has waited, which changes with each look.
std::string gist_of(const std::vector<Deadlock>& all) {
  std::string gist;
  for (const Deadlock& deadlock : all) {
    for (const Deadlock::Wait& wait : deadlock.waits) {
      gist += wait.owner + ' ' + wait.engine + ' ' + wait.id.hex();
      for (const Deadlock::Blocker& blocker : wait.waits_for) gist += ' ' + blocker.id.hex();
      gist += '\n';
    }
    gist += deadlock.only_possible ? "?\n" : "\n";
  }
  return gist;
}

}  // namespace

void DeadlockWatch::saw(const std::string& engine, const std::vector<LockInfo>& locks,
                        Fairness fairness, Clock::time_point begun) {
  Seen seen{{.engine = engine, .locks = {}, .fairness = fairness}, begun};
  for (const LockInfo& lock : locks) {
    if (!lock.waiters.empty()) seen.locks.locks.push_back(lock);
  }
  latest_[engine] = std::move(seen);
}

void DeadlockWatch::lost_sight(const std::string& engine) { latest_.erase(engine); }

bool DeadlockWatch::update() {
  const bool complete = std::ranges::all_of(
      latest_, [&](const auto& each) { return each.second.begun >= before_ended_; });
  if (!complete) return false;
  std::vector<EngineLocks> now;
  for (const auto& [engine, seen] : latest_) now.push_back(seen.locks);
  std::vector<Deadlock> found = confirmed(before_, now);
  before_ = std::move(now);
  before_ended_ = Clock::now();
  const bool changed = gist_of(found) != gist_of(found_);
  found_ = std::move(found);
  return changed;
}

Json DeadlockWatch::json() const {
  Json object = {{"deadlocks", Json::array()}};
  for (const Deadlock& deadlock : found_) {
    Json& each = object["deadlocks"].emplace_back(to_json(deadlock));
    for (std::size_t i = 0; i < deadlock.waits.size(); ++i) {
      each["waits"][i]["path"] = percent_encoded(deadlock.waits[i].name.bytes());
    }
  }
  return object;
}

}  // namespace holdfast::cli
