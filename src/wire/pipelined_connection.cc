#include "wire/pipelined_connection.h"

namespace holdfast::internal {

PipelinedConnection::Call::Call(PipelinedConnection& connection, std::size_t answers)
    : done(connection.runtime()),
      sent_at(connection.runtime().now()),
      owner_(connection),
      number_(connection.first_ + connection.in_flight_.size()) {
  owner_.in_flight_.push_back({this, answers, sent_at});
}

PipelinedConnection::Call::~Call() {
  if (!settled) owner_.in_flight_[number_ - owner_.first_].caller = nullptr;
}

void PipelinedConnection::abandon() {
  stop_opening();
  silence_.abandon();
  for (const InFlight& sent : in_flight_) {
    if (sent.caller) sent.caller->settled = true;  // It must not look for us any more.
  }
}

void PipelinedConnection::take_answer() {
  InFlight& sent = in_flight_.front();
  if (--sent.missing > 0) return;
  Call* const caller = sent.caller;
  in_flight_.pop_front();
  ++first_;
  if (!caller) return;
  caller->settled = true;
  caller->done.set();
}

std::optional<BootTime> PipelinedConnection::oldest_sent() const {
  if (in_flight_.empty()) return std::nullopt;
  return in_flight_.front().sent_at;
}

bool PipelinedConnection::unresponsive(Duration patience) {
  if (!connected()) return is_hard_to_open(patience);
  if (silence_.is_hopeless(oldest_sent(), patience)) {
    drop("no answer any more");  // Nobody else might ask, and so find out.
    return true;
  }
  return silence_.is_silent(oldest_sent(), patience);
}

void PipelinedConnection::give_up_if_silent(const Call& call) {
  if (silence_.is_dead(call.sent_at)) drop("no answer any more");
}

}  // namespace holdfast::internal
