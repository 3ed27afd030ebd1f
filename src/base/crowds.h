// Crowds: which locks were waited for a moment ago. A guess that saves a request, nothing more: who
// believes it and is wrong gets the lock a round trip later. Inside the loop only.
#pragma once

#include <string>
#include <unordered_map>

#include "holdfast/ids.h"
#include "holdfast/time.h"

namespace holdfast::internal {

class Crowds {
 public:
  void add(const Name& name, BootTime now) {
    if (until_.size() >= kMost) until_.clear();
    until_[name.bytes()] = now + kMoment;
  }
  bool contains(const Name& name, BootTime now) {
    const auto place = until_.find(name.bytes());
    if (place == until_.end()) return false;
    if (now < place->second) return true;
    until_.erase(place);
    return false;
  }

 private:
  static constexpr Duration kMoment = std::chrono::milliseconds(500);
  static constexpr std::size_t kMost = 1000;
  std::unordered_map<std::string, BootTime> until_;
};

}  // namespace holdfast::internal
