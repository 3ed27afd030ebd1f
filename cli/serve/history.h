// History: what happened to the locks, as far as this daemon saw it: the last few thousand events, oldest first.
//
// An event is exact if this daemon's own client did it, else it was inferred from one look at the engine and the next;
// what came and went between two looks is not in it.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "history_event.h"
#include "serve/http.h"

namespace holdfast::cli::serve {

Json to_json(const HistoryEvent& event);

class History {
 public:
  // Told of each event.
  using Listener = std::function<void(const HistoryEvent&)>;
  void set_listener(Listener listener) { listener_ = std::move(listener); }

  // Drops what is already known exactly.
  void add(HistoryEvent event);
  // Null: of every engine, of every lock. Oldest first, the latest `most`.
  std::vector<Json> events(const std::string* engine, const std::string* name,
                           std::size_t most) const;

 private:
  bool repeats(const HistoryEvent& event);

  std::deque<HistoryEvent> events_;
  std::size_t bytes_ = 0;  // of the events
  std::unordered_set<std::string>
      exact_;  // digests of engine, name, token and kind of exact events
  std::deque<std::string> exact_order_;
  Listener listener_;
};

}  // namespace holdfast::cli::serve
