// Silence: whether the other end of a connection still speaks. A peer that is stopped or cut off
// looks like one that thinks: nothing tells before TCP does, a quarter of an hour later. Inside the
// loop only.
#pragma once

#include <optional>

#include "holdfast/runtime.h"

namespace holdfast::internal {

class Silence {
 public:
  explicit Silence(Runtime& runtime) : runtime_(runtime), background_(runtime) {}

  // It said something, or the connection is new.
  void heard() { last_heard_ = runtime_.now(); }

  // A call that was sent at `sent_at` has timed out. True if nothing at all was heard for so long
  // that the connection should be given up.
  bool is_dead(BootTime sent_at);

  // True if the oldest call that it owes an answer to (nothing: it owes none) has waited for
  // `patience`; not while it is only we who are slow.
  bool is_silent(std::optional<BootTime> oldest_sent, Duration patience);
  // The same, and for so long that the connection should be given up.
  bool is_hopeless(std::optional<BootTime> oldest_sent, Duration patience) const;

  void abandon() { background_.abandon(); }

 private:
  bool overdue(std::optional<BootTime> oldest_sent, Duration patience) const;
  Task<void> look_once_more();

  Runtime& runtime_;
  BootTime last_heard_{};
  std::optional<BootTime> silent_from_;  // the first call since then that got no answer
  bool looking_ = false;
  bool silent_ = false;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal
