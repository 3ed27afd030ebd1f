// SeenLock: a lock as it was seen at a moment, with moments instead of spans, so that two looks at an unchanged lock are
// equal; and what happened between two looks. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history_event.h"

namespace holdfast::cli {

struct SeenHolder {
  ClaimId id;
  Mode mode = Mode::exclusive;
  Token token;
  std::string label;
  std::string owner;
  std::optional<long long> since_ms;
  std::optional<long long> expires_ms;
  std::vector<std::pair<std::string, std::string>> details;

  friend bool operator==(const SeenHolder&, const SeenHolder&) = default;
};

struct SeenWaiter {
  ClaimId id;
  Mode mode = Mode::exclusive;
  std::string label;
  std::string owner;
  std::optional<long long> since_ms;

  friend bool operator==(const SeenWaiter&, const SeenWaiter&) = default;
};

struct SeenLock {
  Name name = "-";
  Token last_token;
  std::uint32_t permits = 0;
  std::vector<SeenHolder> holders;
  std::vector<SeenWaiter> waiters;

  friend bool operator==(const SeenLock&, const SeenLock&) = default;
};

// `before`: the same lock a look earlier, if it was there. Moments that differ by no more than the time that a look
// takes are the earlier ones.
SeenLock seen(const LockInfo& info, long long now_ms, const SeenLock* before);

// Null: it was not held or waited for.
std::vector<HistoryEvent> happened(const std::string& engine, const SeenLock* before,
                                   const SeenLock* after, long long now_ms);

}  // namespace holdfast::cli
