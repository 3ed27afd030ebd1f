// FirstAsked: for how long this client has been asking for each lock whose last grant was made by another
// server, or in another life of this one. Grants with a ttl of no more than that are over, whatever the
// server's clock says. (It does not count from when the client first met the server, which may have been a
// replica then.) Inside the loop only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "holdfast/runtime.h"

namespace holdfast::internal::session {

class FirstAsked {
 public:
  // Asks for the lock now. Returns waited_us().
  std::int64_t ask(const std::string& key, BootTime now) {
    constexpr std::size_t kMax = 10'000;  // A lock that is forgotten waits a little longer.
    if (asked_.size() >= kMax) asked_.clear();
    Asked& asked = asked_.try_emplace(key, now).first->second;
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(now - asked.first);
    return asked.waited_us = waited.count();
  }
  // From the first question to the last one; 0 if there was none.
  std::int64_t waited_us(const std::string& key) const {
    const auto place = asked_.find(key);
    return place == asked_.end() ? 0 : place->second.waited_us;
  }

 private:
  struct Asked {
    explicit Asked(BootTime now) : first(now) {}
    BootTime first;
    std::int64_t waited_us = 0;
  };
  std::unordered_map<std::string, Asked> asked_;
};

}  // namespace holdfast::internal::session
