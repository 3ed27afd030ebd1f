// HistoryEvent: something that happened to a lock, as a program saw it that looks at locks or takes them.
#pragma once

#include <optional>
#include <string>

#include "session.h"

namespace holdfast::cli {

struct HistoryEvent {
  long long at_ms = 0;  // wall clock; zero: now
  std::string engine;
  Name name = "-";
  std::string
      kind;  // granted, handed_over, released, expired, lost, waiting, gave_up, refused, broken
  Token token{};
  std::optional<Mode> mode{};
  std::string label{};
  std::string owner{};
  std::optional<long long> held_for_ms{};
  std::optional<long long> waited_for_ms{};
  std::string reason{};
  bool exact = false;  // told by who did it, not inferred from two looks
};

Json event_json(const HistoryEvent& event);

// The wall clock.
long long wall_ms();

}  // namespace holdfast::cli
