#include "lab/timeline_plan.h"

#include <algorithm>
#include <cmath>

namespace holdfast::lab {
namespace {

constexpr double kMinGap = 30;
constexpr double kMaxGap = 96;
constexpr double kTickGap = 64;

bool is_at_resource(EventKind kind) {
  return kind == EventKind::read || kind == EventKind::wrote || kind == EventKind::barred ||
         kind == EventKind::unclear;
}

// The answers of the three kinds of resource to one step stand above each other.
bool same_column(const Event& a, const Event& b) {
  if (!is_at_resource(a.kind) || !is_at_resource(b.kind) || a.who != b.who) return false;
  const auto upper = ResourceId::parse(a.resource);
  const auto lower = ResourceId::parse(b.resource);
  return upper && lower && upper->fence < lower->fence;
}

double gap_for(Duration span) {
  const double ms = std::chrono::duration<double, std::milli>(span).count();
  return std::clamp(kMinGap + 9 * std::log2(1 + ms / 4), kMinGap, kMaxGap);
}

}  // namespace

TimelinePlan::TimelinePlan(const History& history, const Diagnosis& finding,
                           std::size_t max_events) {
  choose_sheet(history, finding);
  std::map<std::string, EventKind> last;  // of each client
  for (const Event& event : history) {
    if (!is_drawn(event)) continue;
    // A second refusal tells nothing new; two writes may leave at once.
    const auto former = last.find(event.who);
    const bool again = former != last.end() && former->second == event.kind;
    if (again && (event.kind == EventKind::doubted || event.kind == EventKind::sent)) continue;
    last[event.who] = event.kind;
    events_.push_back(event);
  }
  if (events_.size() > max_events) cut_to(max_events, finding);
  for (const Event& event : events_) {
    if (event.who != "server" && std::ranges::find(lanes_, event.who) == lanes_.end()) {
      lanes_.push_back(event.who);
    }
  }
  lay_out();
}

void TimelinePlan::choose_sheet(const History& history, const Diagnosis& finding) {
  std::map<std::string, int> score;
  for (const Event& event : history) {
    if (const auto id = ResourceId::parse(event.resource)) score[id->sheet] += 0;
  }
  for (const LostUpdate& update : finding.lost_updates) {
    // Harm that a fence should have prevented is the most telling.
    score[update.resource.sheet] += update.resource.fence == Fence::full          ? 100
                                    : update.resource.fence == Fence::writes_only ? 10
                                                                                  : 1;
  }
  int best = -1;
  for (const auto& [sheet, points] : score) {
    if (points > best) {
      best = points;
      sheet_ = sheet;
    }
  }
}

bool TimelinePlan::is_drawn(const Event& event) const {
  if (event.kind == EventKind::renewed || event.kind == EventKind::believed) return false;
  if (event.kind == EventKind::refused && event.text == "stalled") return false;  // said before
  if (event.resource.empty()) return true;
  const auto id = ResourceId::parse(event.resource);
  return id && id->sheet == sheet_ && !id->log;
}

void TimelinePlan::cut_to(std::size_t max_events, const Diagnosis& finding) {
  BootTime middle = events_[max_events / 2].at;
  for (const LostUpdate& update : finding.lost_updates) {
    if (update.resource.sheet == sheet_) {
      middle = update.at;
      break;
    }
  }
  if (finding.lost_updates.empty() && !finding.overlaps.empty()) {
    middle = finding.overlaps.front().second.from;
  }
  const auto at = static_cast<std::size_t>(
      std::ranges::lower_bound(events_, middle, {}, &Event::at) - events_.begin());
  const std::size_t before = max_events * 3 / 4;
  const std::size_t first = std::min(at > before ? at - before : 0, events_.size() - max_events);
  const auto from = events_.begin() + static_cast<std::ptrdiff_t>(first);
  events_ = std::vector<Event>(from, from + static_cast<std::ptrdiff_t>(max_events));
  cut_ = true;
}

void TimelinePlan::lay_out() {
  double x = 0;
  const Event* former = nullptr;
  for (const Event& event : events_) {
    if (former != nullptr && !same_column(*former, event)) x += gap_for(event.at - former->at);
    columns_.emplace(event.at, x);
    former = &event;
  }
}

double TimelinePlan::x_of(BootTime moment) const {
  const auto after = columns_.lower_bound(moment);
  if (after == columns_.end()) return width();
  if (after->first == moment || after == columns_.begin()) return after->second;
  const auto before = std::prev(after);
  const double part = std::chrono::duration<double>(moment - before->first) /
                      std::chrono::duration<double>(after->first - before->first);
  return before->second + part * (after->second - before->second);
}

std::vector<BootTime> TimelinePlan::ticks() const {
  std::vector<BootTime> moments;
  double last = -kTickGap;
  for (const auto& [moment, x] : columns_) {
    if (x - last < kTickGap) continue;
    moments.push_back(moment);
    last = x;
  }
  return moments;
}

}  // namespace holdfast::lab
