// How a claim waits for an answer that may never come: a connection that dies in silence, with the
// grant on its way or before, looks like a lock that others hold.
#include <algorithm>

#include "engines/session/acquisition.h"

namespace holdfast::internal::session {

Task<std::optional<Woken>> Acquisition::wait_for_answer(Deadline until) {
  constexpr Duration kLongest = std::chrono::seconds(15);
  const Duration pace = std::min<Duration>(held_.claim.ttl / 2, kLongest);
  for (;;) {
    Deadline look_at = Deadline::at(runtime_.now() + runtime_.jitter(pace));
    Woken woken = co_await held_.session->wait(until.sooner(look_at.moment()), wait_.stop);
    if (woken != Woken::timed_out || until.passed(runtime_.now())) co_return woken;
    const bool waits = co_await waits_in_server();
    if (waits) continue;
    // The answer may be on its way.
    look_at = Deadline::at(runtime_.now() + request_timeout_);
    woken = co_await held_.session->wait(until.sooner(look_at.moment()), wait_.stop);
    if (woken != Woken::timed_out || until.passed(runtime_.now())) co_return woken;
    co_return std::nullopt;
  }
}

Task<bool> Acquisition::waits_in_server() {
  const Opened& session = held_.session->opened();
  // The clerk's connection may be dead as well; then it is opened anew.
  for (int attempt = 0; attempt < 2 && held_.session->busy(); ++attempt) {
    const Deadline limit = Deadline::at(runtime_.now() + request_timeout_);
    const Result<ClerkLoan> clerk = co_await sessions_.take_clerk(limit);
    if (!clerk) co_return true;
    const SqlOutcome found =
        co_await (*clerk)->ask(recipe_.find_waiting(session.number, session.peer), limit);
    if (found.ok()) co_return !found.results.back().empty();
    if (!found.error->lost) co_return true;
  }
  co_return true;
}

Acquisition::Step Acquisition::replace_silent_session() {
  // open() ends it, and with it what it holds or waits for.
  orphans_.add(held_.claim.id, held_.session->opened());
  held_.session->give_up();
  sessions_.forget(std::exchange(held_.session, nullptr));
  rounds_ = 0;
  return Step::again;
}

}  // namespace holdfast::internal::session
