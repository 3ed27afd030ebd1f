// ProtectedRegister: what a lock protects: a number that is read, changed and written back. Each
// write must be one update of what is there; if it is not, an update was lost. And as long as a
// reader is let in, it must see the same number. Three registers stand side by side: without a
// fence, with one that checks writes, and with one that checks reads too, all by the rule that
// ships.
#pragma once

#include <cstdint>

#include "fence/mark.h"

namespace holdfast::lab::sim {

enum class Fencing { none, writes, reads_and_writes };

class ProtectedRegister {
 public:
  explicit ProtectedRegister(Fencing fencing) : fencing_(fencing) {}

  struct Read {
    bool refused = false;
    std::uint64_t version = 0;
  };
  Read read(const Ticket& ticket) {
    if (fencing_ == Fencing::reads_and_writes && !admits(ticket)) return {.refused = true};
    return {.version = version_};
  }
  // Two reads under one lease: somebody wrote in between, and the fence noticed neither.
  static bool changed_between(const Read& one, const Read& other) {
    return !one.refused && !other.refused && one.version != other.version;
  }

  enum class Written { done, refused, update_lost };
  Written write(const Ticket& ticket, const Read& read) {
    if (read.refused) return Written::refused;
    if (fencing_ != Fencing::none &&
        (internal::fence::problem_with_write(ticket) || !admits(ticket))) {
      return Written::refused;
    }
    return version_++ == read.version ? Written::done : Written::update_lost;
  }

 private:
  bool admits(const Ticket& ticket) {
    const auto raised = internal::fence::admitted(mark_, ticket);
    if (raised) mark_ = *raised;
    return raised.has_value();
  }
  Fencing fencing_;
  internal::fence::Mark mark_;
  std::uint64_t version_ = 0;
};

}  // namespace holdfast::lab::sim
