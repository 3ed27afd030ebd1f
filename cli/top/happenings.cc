#include "top/happenings.h"

namespace holdfast::cli::top {
namespace {

std::string key_of(const std::string& engine, const Name& name) {
  return engine + '\0' + name.bytes();
}

}  // namespace

void Happenings::add(const HistoryEvent& event) {
  std::string key = key_of(event.engine, event.name);
  auto& events = by_lock_[key];
  events.push_back({next_, event});
  if (events.size() > kMostOfOne) events.pop_front();
  order_.push_back({next_++, std::move(key)});
  if (order_.size() > kMostOfAll) drop_oldest();
}

void Happenings::drop_oldest() {
  const auto at = by_lock_.find(order_.front().key);
  // It may have been dropped already because its lock had too many.
  if (at != by_lock_.end() && at->second.front().number == order_.front().number) {
    at->second.pop_front();
    if (at->second.empty()) by_lock_.erase(at);
  }
  order_.pop_front();
}

std::vector<HistoryEvent> Happenings::of(const std::string& engine, const Name& name) const {
  std::vector<HistoryEvent> events;
  const auto at = by_lock_.find(key_of(engine, name));
  if (at == by_lock_.end()) return events;
  for (auto each = at->second.rbegin(); each != at->second.rend(); ++each)
    events.push_back(each->event);
  return events;
}

}  // namespace holdfast::cli::top
