#include "top/lock_texts.h"

#include <algorithm>

#include "lock_info.h"
#include "top/span_text.h"

namespace holdfast::cli::top {

std::string holder_name(const SeenHolder& holder) {
  return shown_label(holder.label.empty() ? holder.owner : holder.label);
}

Colour Left::colour() const {
  constexpr double kTwoRenewalsMissed = 1.0 / 3;
  constexpr double kLast = 0.1;
  return share < kLast ? Colour::red : share < kTwoRenewalsMissed ? Colour::yellow : Colour::green;
}

std::optional<Left> left_of(const TopLock& lock, std::size_t holder, long long now_ms) {
  const auto& expires_ms = lock.lock.holders[holder].expires_ms;
  if (!expires_ms) return std::nullopt;
  const long long ms = std::max(0LL, *expires_ms - now_ms);
  const long long full_ms = std::max(1LL, lock.full_ms[holder]);
  return Left{ms, std::min(1.0, static_cast<double>(ms) / static_cast<double>(full_ms))};
}

std::optional<Left> least_left(const TopLock& lock, long long now_ms) {
  std::optional<Left> least;
  for (std::size_t i = 0; i < lock.lock.holders.size(); ++i) {
    const std::optional<Left> left = left_of(lock, i, now_ms);
    if (left && (!least || left->ms < least->ms)) least = left;
  }
  return least;
}

std::string left_text(const std::optional<Left>& left) { return left ? span_text(left->ms) : "-"; }

std::string event_text(const HistoryEvent& event) {
  const std::string name = shown_label(event.label.empty() ? event.owner : event.label);
  const std::string token = event.token == Token() ? "" : ", token " + event.token.str();
  const std::string held = event.held_for_ms ? ", held " + span_text(*event.held_for_ms) : "";
  const std::string waited =
      event.waited_for_ms ? ", waited " + span_text(*event.waited_for_ms) : "";
  if (event.kind == "granted") return "granted to " + name + token + waited;
  if (event.kind == "handed_over") return "handed over to " + name + token + waited;
  if (event.kind == "released") return "released by " + name + token + held;
  if (event.kind == "expired") return "EXPIRED: lost by " + name + token + held;
  if (event.kind == "waiting") return name + " waits";
  if (event.kind == "gave_up") return name + " gave up" + waited;
  return event.kind + ": " + name + token;
}

Colour event_colour(const HistoryEvent& event) {
  if (event.kind == "expired" || event.kind == "lost") return Colour::red;
  if (event.kind == "granted" || event.kind == "handed_over") return Colour::green;
  return Colour::none;
}

}  // namespace holdfast::cli::top
