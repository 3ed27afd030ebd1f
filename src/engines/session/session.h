// Session: one connection whose life is the life of a lock. One call at a time; a caller that
// leaves before the answer came can come back for it. Inside the loop only.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "base/require.h"
#include "engines/session/recipe.h"
#include "holdfast/runtime.h"

namespace holdfast::internal::session {

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Runtime& runtime, Opened opened)
      : opened_(std::move(opened)), answered_(runtime), background_(runtime) {
    answered_.set();
  }

  // Begins a call: its first bytes leave before this returns. The connection is given up if the
  // answer does not come by `limit`.
  // REQUIRES: !busy().
  void send(Batch batch, Deadline limit);
  // The same for one that is answered when others let it.
  void send_wait(Batch batch) {
    opened_.connection->expect_to_wait();
    send(std::move(batch), Deadline::never());
  }
  // True from send() until its answer.
  bool busy() const { return !answered_.is_set(); }
  // Waits until it is not busy.
  Event::Awaiter wait(Deadline deadline, std::stop_token stop = {}) {
    return answered_.wait(deadline, std::move(stop));
  }
  // REQUIRES: an answer has come, and nobody has taken it.
  SqlOutcome take() {
    HOLDFAST_REQUIRE(!busy());
    return std::move(outcome_);
  }
  const SqlOutcome& answer() const { return outcome_; }

  // All of it, for a short call: what is not answered by the deadline ends the connection.
  Task<SqlOutcome> ask(Batch batch, Deadline deadline);

  bool alive() const { return opened_.connection->connected(); }
  Event& lost() { return opened_.connection->lost(); }
  void close() { opened_.connection->close(); }
  // The same, because the server does not answer.
  void give_up() { opened_.connection->give_up("no answer in time"); }
  const Opened& opened() const { return opened_; }

  // After how much idle time the server ends it, as we said; zero: we said nothing.
  std::chrono::milliseconds ends_after{0};

 private:
  Task<void> run(Batch batch, Deadline limit);

  Opened opened_;
  Event answered_;
  SqlOutcome outcome_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::session
