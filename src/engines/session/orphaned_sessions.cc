#include "engines/session/orphaned_sessions.h"

namespace holdfast::internal::session {

Task<Result<void>> end_session(Runtime& runtime, const Recipe& recipe, Session& through,
                               Orphan orphan, Deadline deadline) {
  constexpr Duration kPause = std::chrono::milliseconds(2);
  // An error means most often that it is gone; the next question tells.
  const SqlOutcome ended =
      co_await through.ask(recipe.end_session(orphan.number, orphan.peer), deadline);
  if (!ended.ok() && ended.error->lost) co_return recipe.failure_of(*ended.error);
  for (;;) {
    const SqlOutcome found =
        co_await through.ask(recipe.find_session(orphan.number, orphan.peer), deadline);
    if (!found.ok()) co_return recipe.failure_of(*found.error);
    if (found.results.back().empty()) co_return Result<void>();
    if (deadline.passed(runtime.now())) {
      co_return Failure(Code::unreachable, "the server does not end a session");
    }
    co_await sleep_until(runtime, runtime.now() + kPause);
  }
}

}  // namespace holdfast::internal::session
