// Happenings: what happened to each lock while this program looked at it, the latest of each and of all.
// Not thread-safe.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "history_event.h"

namespace holdfast::cli::top {

class Happenings {
 public:
  static constexpr std::size_t kMostOfOne = 200;
  static constexpr std::size_t kMostOfAll = 20'000;

  void add(const HistoryEvent& event);
  // The latest first.
  std::vector<HistoryEvent> of(const std::string& engine, const Name& name) const;

 private:
  struct Numbered {
    unsigned long long number;
    HistoryEvent event;
  };
  struct Place {
    unsigned long long number;
    std::string key;
  };
  void drop_oldest();

  std::unordered_map<std::string, std::deque<Numbered>> by_lock_;
  std::deque<Place> order_;
  unsigned long long next_ = 0;
};

}  // namespace holdfast::cli::top
