// ContentionHistory: locks that were contended within the last half second. A hint that saves a request:
// if it is wrong, the lock is granted one round trip later. Inside the loop only.
#pragma once

#include <string>
#include <unordered_map>

#include "holdfast/ids.h"
#include "holdfast/time.h"

namespace holdfast::internal {

class ContentionHistory {
 public:
  void add(const Name& name, BootTime now) {
    if (until_.size() >= kMaxNames) until_.clear();
    until_[name.bytes()] = now + kMemory;
  }
  bool contains(const Name& name, BootTime now) {
    const auto entry = until_.find(name.bytes());
    if (entry == until_.end()) return false;
    if (now < entry->second) return true;
    until_.erase(entry);
    return false;
  }

 private:
  static constexpr Duration kMemory = std::chrono::milliseconds(500);
  static constexpr std::size_t kMaxNames = 1000;
  std::unordered_map<std::string, BootTime> until_;
};

}  // namespace holdfast::internal
