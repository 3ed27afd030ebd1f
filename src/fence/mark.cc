#include "fence/mark.h"

#include "holdfast/lease.h"

namespace holdfast {

Ticket::Ticket(const Lease& lease)
    : token(lease ? lease.token() : Token()), mode(lease ? lease.mode() : Mode::exclusive) {}

namespace internal::fence {

std::optional<Failure> problem_with(const Ticket& ticket) {
  if (ticket.mode == Mode::permit) {
    return Failure(
        Code::invalid_argument,
        "a fence cannot check a permit of a semaphore: several are valid at once, and an "
        "old one may outlast any number of newer ones. Guard what each holder touches by "
        "a mutex of its own, and show that one's token");
  }
  // 0 is what a lease without tokens would show: admitted, it would go unfenced for as long as
  // nobody else shows a real one.
  if (ticket.token == Token()) {
    return Failure(Code::invalid_argument,
                   "0 is not a fencing token: pass a lease that is not empty, from an engine that "
                   "has tokens (see Guarantees)");
  }
  return std::nullopt;
}

std::optional<Failure> problem_with_write(const Ticket& ticket) {
  if (ticket.mode == Mode::shared) {
    return Failure(Code::invalid_argument,
                   "a shared lease gives the right to read, not to write: acquire the lock "
                   "exclusively for token " +
                       ticket.token.str() + "'s write");
  }
  return problem_with(ticket);
}

}  // namespace internal::fence

}  // namespace holdfast
