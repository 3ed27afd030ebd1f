// Registers: the data that a lock protects, three times: without a fence, with one that checks writes, and
// with one that is said to check reads as well. A holder reads and writes all of them at once.
#pragma once

#include <functional>
#include <string>

#include "lab/sim/outcome.h"
#include "lab/sim/protected_register.h"

namespace holdfast::lab::sim {

class Registers {
 public:
  using Find = std::function<void(Finding, const std::string&)>;
  // `refused` counts what the fences refuse.
  Registers(Fencing full_fence, std::uint64_t& refused, Find find)
      : refused_(refused), find_(std::move(find)), fenced_(full_fence) {}

  struct Read {
    ProtectedRegister::Read bare, write_fenced, fenced;
  };
  Read read(const Ticket& ticket) {
    const Read now{bare_.read(ticket), write_fenced_.read(ticket), fenced_.read(ticket)};
    if (now.fenced.refused) ++refused_;
    return now;
  }
  // One more read by a holder that read `before`: nobody may have written in between.
  Read read_again(const Ticket& ticket, const Read& before) {
    const Read now = read(ticket);
    const auto compare = [&](const ProtectedRegister::Read& one,
                             const ProtectedRegister::Read& other, Finding finding) {
      if (!ProtectedRegister::changed_between(one, other)) return;
      find_(finding, "a reader with token " + ticket.token.str() + " saw the data change");
    };
    compare(before.bare, now.bare, Finding::harm_bare);
    compare(before.write_fenced, now.write_fenced, Finding::harm_write_fence);
    compare(before.fenced, now.fenced, Finding::harm_full_fence);
    return now;
  }
  // The write that belongs to `read`.
  void write(const Ticket& ticket, const Read& read) {
    update(bare_, ticket, read.bare, Finding::harm_bare);
    update(write_fenced_, ticket, read.write_fenced, Finding::harm_write_fence);
    update(fenced_, ticket, read.fenced, Finding::harm_full_fence);
  }

 private:
  void update(ProtectedRegister& data, const Ticket& ticket, const ProtectedRegister::Read& from,
              Finding finding) {
    using Written = ProtectedRegister::Written;
    const Written written = data.write(ticket, from);
    if (written == Written::refused) ++refused_;
    if (written == Written::update_lost) {
      find_(finding, "a write with token " + ticket.token.str() + " lost an update");
    }
  }

  std::uint64_t& refused_;
  Find find_;
  ProtectedRegister bare_{Fencing::none};
  ProtectedRegister write_fenced_{Fencing::writes};
  ProtectedRegister fenced_;
};

}  // namespace holdfast::lab::sim
