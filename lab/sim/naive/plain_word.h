// PlainWord: one key of a Redis, with the few commands that the recipes of the literature use.
#pragma once

#include <optional>
#include <string>

#include "lab/sim/sim_runtime.h"

namespace holdfast::lab::sim {

class PlainWord {
 public:
  explicit PlainWord(internal::SimRuntime& node) : node_(node) {}

  bool set_nx(const std::string& value) {
    if (get()) return false;
    value_ = value;
    ends_.reset();
    return true;
  }
  bool expire(Duration ttl) {
    if (!get()) return false;
    ends_ = node_.now() + ttl;
    return true;
  }
  std::optional<std::string> get() {
    if (ends_ && node_.now() >= *ends_) value_.reset(), ends_.reset();
    return value_;
  }
  std::optional<std::string> get_set(const std::string& value) {
    std::optional<std::string> old = get();
    value_ = value;
    ends_.reset();
    return old;
  }
  bool del() {
    const bool was = get().has_value();
    value_.reset();
    ends_.reset();
    return was;
  }
  // A counter beside it.
  std::uint64_t incr() { return ++counter_; }

 private:
  internal::SimRuntime& node_;
  std::optional<std::string> value_;
  std::optional<BootTime> ends_;
  std::uint64_t counter_ = 0;
};

}  // namespace holdfast::lab::sim
