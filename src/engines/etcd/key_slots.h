// KeySlots: which key each claim of this client has in its lock's queue. Inside the loop only.
//
// To read a queue, etcd goes through all keys that were ever there, removed ones included, until it is compacted.
// With a key of its own for each claim a lock would become slower with every acquisition. So a claim takes a key
// that an earlier one of this client has left: there are as many as there were claims at the same time.
//
//   take() ──► taken ──free()────► another claim's
//                 └─────retire()─► nobody's: a request for it may still be executed, and make the key
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "holdfast/engine.h"

namespace holdfast::internal::etcd {

// Written as a claim's id is.
using KeySlot = ClaimId;

class KeySlots {
 public:
  explicit KeySlots(Runtime& runtime) : client_(draw_claim_id(runtime)) {}

  // The slot that the claim has already, or one that is free.
  KeySlot take(const Claim& claim) {
    const auto [taken, is_new] = taken_.try_emplace(claim.id);
    if (!is_new) return slot(taken->second.number);
    Lock& lock = locks_[claim.name.bytes()];
    std::uint32_t number = lock.next;
    if (lock.free.empty()) {
      ++lock.next;
    } else {
      number = lock.free.back();
      lock.free.pop_back();
    }
    taken->second = Taken{claim.name.bytes(), number};
    return slot(number);
  }

  std::optional<KeySlot> find(const ClaimId& claim) const {
    const auto taken = taken_.find(claim);
    if (taken == taken_.end()) return std::nullopt;
    return slot(taken->second.number);
  }

  // Its key is gone, and nothing is under way that could make it again.
  void free(const ClaimId& claim) {
    const auto taken = taken_.find(claim);
    if (taken == taken_.end()) return;
    const auto lock = locks_.find(taken->second.lock);
    lock->second.free.push_back(taken->second.number);
    if (lock->second.free.size() == lock->second.next) locks_.erase(lock);
    taken_.erase(taken);
  }

  void retire(const ClaimId& claim) { taken_.erase(claim); }

  // Each slot is freed, or else retired, once.
  void leave(const ClaimId& claim, bool reusable) { reusable ? free(claim) : retire(claim); }

  // How all keys of this client begin that are in the same queue and for the same mode.
  static std::string common_prefix(const std::string& key) {
    return key.substr(0, key.size() - 2 * sizeof(std::uint32_t));
  }

 private:
  struct Taken {
    std::string lock;
    std::uint32_t number = 0;
  };
  // Numbers below `next` are taken, retired or free.
  struct Lock {
    std::uint32_t next = 0;
    std::vector<std::uint32_t> free;
  };

  // The client's id, with the number as its last bytes.
  KeySlot slot(std::uint32_t number) const {
    auto bytes = client_.bytes();
    for (std::size_t i = 0; i < sizeof number; ++i) {
      bytes[bytes.size() - 1 - i] = static_cast<std::uint8_t>(number >> (8 * i));
    }
    return KeySlot(bytes);
  }

  const ClaimId client_;
  std::unordered_map<ClaimId, Taken> taken_;
  std::unordered_map<std::string, Lock> locks_;
};

}  // namespace holdfast::internal::etcd
