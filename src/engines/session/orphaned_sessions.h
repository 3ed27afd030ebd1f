// OrphanedSessions: sessions that we gave up without an answer. What they hold or wait for ends when the
// server notices, at the latest after the ttl; who cleans up ends them sooner. Inside the loop only.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "engines/session/session.h"

namespace holdfast::internal::session {

struct Orphan {
  std::uint64_t number = 0;
  std::string peer;
};

class OrphanedSessions {
 public:
  void add(const ClaimId& claim, const Opened& session) {
    constexpr std::size_t kMax = 10'000;  // Nobody has asked for them: they have long ended.
    if (all_.size() >= kMax) all_.clear();
    all_[claim] = Orphan{session.number, session.peer};
  }
  std::optional<Orphan> find(const ClaimId& claim) const {
    const auto place = all_.find(claim);
    if (place == all_.end()) return std::nullopt;
    return place->second;
  }
  void remove(const ClaimId& claim) { all_.erase(claim); }

 private:
  std::unordered_map<ClaimId, Orphan> all_;
};

// Ends it through another session; returns when it is gone.
Task<Result<void>> end_session(Runtime& runtime, const Recipe& recipe, Session& through,
                               Orphan orphan, Deadline deadline);

}  // namespace holdfast::internal::session
