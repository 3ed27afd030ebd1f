// Holders, waiters and events in words. Pure.
#pragma once

#include <optional>
#include <string>

#include "top/frame.h"
#include "top/sight.h"

namespace holdfast::cli::top {

// The label; the owner where there is none.
std::string holder_name(const SeenHolder& holder);

// How much of a hold's time is left.
struct Left {
  long long ms = 0;
  double share = 0;  // of the ttl, 0 to 1

  // A holder that renews has two thirds or more.
  Colour colour() const;
};

// None: the engine tells no end.
std::optional<Left> left_of(const TopLock& lock, std::size_t holder, long long now_ms);
// Of the holder that has the least.
std::optional<Left> least_left(const TopLock& lock, long long now_ms);
// "21s", or "-".
std::string left_text(const std::optional<Left>& left);

// "handed over to bob@web2 pid 4711, token 42, waited 12s": without its time.
std::string event_text(const HistoryEvent& event);
// Red where something was lost, green where somebody got the lock.
Colour event_colour(const HistoryEvent& event);

}  // namespace holdfast::cli::top
