// WaitingLines: the claims of this client that wait, per lock, in the order in which they came. For
// stores that tell nobody when a lock comes free, so that somebody has to ask again and again: only
// the first of a line does, and what this client itself releases it is told of at once. Inside the
// loop only.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "holdfast/engine.h"

namespace holdfast::internal {

class WaitingLines {
 public:
  class Place;

  bool empty(const std::string& key) const { return !lines_.contains(key); }
  // This client let go of it: the first may try.
  void wake(const std::string& key);
  // Ends the wait of a claim. False if it does not wait.
  bool end(const std::string& key, const ClaimId& claim);

 private:
  struct Line {
    std::list<Place*> waiting;  // never empty
    Busy seen;                  // who had it when somebody last looked
  };
  std::unordered_map<std::string, Line> lines_;
};

// A place at the end of a line, until it is destroyed.
class WaitingLines::Place {
 public:
  Place(WaitingLines& lines, Runtime& runtime, std::string key, const ClaimId& claim)
      : told(runtime), lines_(lines), key_(std::move(key)), claim_(claim) {
    std::list<Place*>& waiting = line().waiting;
    at_ = waiting.insert(waiting.end(), this);
  }
  ~Place() {
    std::list<Place*>& waiting = line().waiting;
    const bool was_first = first();
    waiting.erase(at_);
    if (waiting.empty()) {
      lines_.lines_.erase(key_);
    } else if (was_first) {
      waiting.front()->told.set();
    }
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  bool first() { return line().waiting.front() == this; }
  bool ended() const { return ended_; }
  // Whether wake() was called since this was last asked.
  bool released() { return std::exchange(released_, false); }
  Busy& seen() { return line().seen; }

  Event told;  // it is the first now, or there is a reason to look

 private:
  friend class WaitingLines;
  Line& line() { return lines_.lines_[key_]; }

  WaitingLines& lines_;
  std::string key_;
  ClaimId claim_;
  std::list<Place*>::iterator at_;
  bool ended_ = false;
  bool released_ = false;
};

inline void WaitingLines::wake(const std::string& key) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return;
  Place& first = *line->second.waiting.front();
  first.released_ = true;
  first.told.set();
}

inline bool WaitingLines::end(const std::string& key, const ClaimId& claim) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return false;
  for (Place* place : line->second.waiting) {
    if (place->claim_ != claim) continue;
    place->ended_ = true;
    place->told.set();
    return true;
  }
  return false;
}

}  // namespace holdfast::internal
