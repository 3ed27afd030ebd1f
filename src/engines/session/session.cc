#include "engines/session/session.h"

#include "base/require.h"

namespace holdfast::internal::session {

void Session::send(Batch batch, Deadline limit) {
  HOLDFAST_REQUIRE(!busy());
  answered_.reset();
  background_.spawn(run(std::move(batch), limit));
}

Task<void> Session::run(Batch batch, Deadline limit) {
  outcome_ = co_await opened_.connection->run(std::move(batch), limit);
  answered_.set();
}

Task<SqlOutcome> Session::ask(Batch batch, Deadline deadline) {
  const std::shared_ptr<Session> keep = shared_from_this();
  send(std::move(batch), deadline);
  co_await wait(Deadline::never());
  co_return take();
}

}  // namespace holdfast::internal::session
