// Locks as an engine would list them, for the tests of what is made of them.
#pragma once

#include <string>
#include <vector>

#include "holdfast/engine.h"
#include "top/sight.h"

namespace holdfast::cli::top::testing {

inline ClaimId id_of(std::uint8_t number) {
  std::array<std::uint8_t, ClaimId::kBytes> bytes{};
  bytes[0] = number;
  return ClaimId(bytes);
}

struct Made {
  std::string name;
  std::uint64_t token = 1;
  long long held_ms = 0;
  std::vector<long long> waits_ms = {};
  std::string label = "app";
  long long left_ms = 30'000;
  std::string owner = "";
};

inline LockInfo lock_of(const Made& made) {
  LockInfo lock{Name(made.name), Token(made.token), 0, {}, {}};
  if (made.token != 0) {
    lock.holders.push_back({.id = id_of(static_cast<std::uint8_t>(made.token)),
                            .mode = Mode::exclusive,
                            .token = Token(made.token),
                            .label = made.label,
                            .owner = made.owner,
                            .held_for = std::chrono::milliseconds(made.held_ms),
                            .expires_in = std::chrono::milliseconds(made.left_ms),
                            .details = {}});
  }
  for (std::size_t i = 0; i < made.waits_ms.size(); ++i) {
    const auto number = static_cast<std::uint8_t>(200 + i);
    lock.waiters.push_back({id_of(number), Mode::exclusive, "waiter-" + std::to_string(i), "",
                            std::chrono::milliseconds(made.waits_ms[i])});
  }
  return lock;
}

inline constexpr long long kNowMs = 1'700'000'000'000;

inline std::vector<HistoryEvent> show(Sight& sight, std::size_t engine,
                                      const std::vector<Made>& made, long long now_ms = kNowMs) {
  std::vector<LockInfo> locks;
  for (const Made& each : made) locks.push_back(lock_of(each));
  return sight.saw(engine, locks, Fairness::fifo, Sight::Clock::now(), now_ms);
}

}  // namespace holdfast::cli::top::testing
