#include "engines/session/record_requests.h"

namespace holdfast::internal::session {

namespace {

class RecordRequest {
 public:
  RecordRequest(Runtime& runtime, Recipe& recipe, Sessions& sessions)
      : runtime_(runtime), recipe_(recipe), sessions_(sessions) {}

  Task<Result<std::optional<SqlOutcome>>> run(std::vector<SqlStatement> statements, bool look,
                                              Deadline limit);

 private:
  // After an error: nothing if it should be asked again.
  Task<std::optional<Failure>> recover(Session& clerk, const SqlError& error, Deadline limit);
  // An attempt without an answer may have been executed, whatever the last one met.
  Failure result(const Failure& last) const {
    return unsure_ ? Failure(Code::unknown, last.message()) : last;
  }

  Runtime& runtime_;
  Recipe& recipe_;
  Sessions& sessions_;
  bool unsure_ = false;
};

Task<Result<std::optional<SqlOutcome>>> RecordRequest::run(std::vector<SqlStatement> statements,
                                                           bool look, Deadline limit) {
  for (;;) {
    const Result<ClerkLoan> clerk = co_await sessions_.take_clerk(limit);
    if (!clerk) co_return result(clerk.failure());
    Batch batch = statements;
    SqlOutcome outcome = co_await (*clerk)->ask(std::move(batch), limit);
    if (outcome.ok()) co_return std::optional(std::move(outcome));
    const SqlError& error = *outcome.error;
    if (look && recipe_.trouble_with(error) == SqlTrouble::no_table) {
      co_return std::optional<SqlOutcome>();
    }
    const std::optional<Failure> failure = co_await recover(*clerk->operator->(), error, limit);
    if (failure) co_return result(*failure);
    unsure_ = unsure_ || error.may_have_run;
  }
}

Task<std::optional<Failure>> RecordRequest::recover(Session& clerk, const SqlError& error,
                                                    Deadline limit) {
  const Failure failure = recipe_.failure_of(error);
  if (limit.passed(runtime_.now())) co_return failure;
  if (error.lost) {
    // Another connection may tell, or one that the server had ended while it was idle.
    const bool again = error.may_have_run || error.read_only;
    co_return again ? std::optional<Failure>() : failure;
  }
  const SqlTrouble trouble = recipe_.trouble_with(error);
  if (trouble == SqlTrouble::other) co_return failure;
  if (trouble == SqlTrouble::no_table) {
    if (std::optional<Failure> forbidden = recipe_.no_tables()) co_return forbidden;
    const SqlOutcome made = co_await clerk.ask(recipe_.make_tables(), limit);
    // Whether they were made all the same, the next request finds out.
    if (made.ok() || made.error->lost) co_return std::nullopt;
    co_return recipe_.failure_of(*made.error);
  }
  const BootTime again = runtime_.now() + runtime_.jitter(std::chrono::milliseconds(2), 0.9);
  static_cast<void>(co_await sleep_until(runtime_, again));
  co_return std::nullopt;
}

struct Asking {
  Runtime& runtime;
  Recipe& recipe;
  Sessions& sessions;
  Duration timeout;
};

Task<Result<std::optional<SqlOutcome>>> ask(Asking with, std::vector<SqlStatement> statements,
                                            bool look, Deadline deadline) {
  RecordRequest request(with.runtime, with.recipe, with.sessions);
  const Deadline limit = deadline.sooner(with.runtime.now() + with.timeout);
  co_return co_await request.run(std::move(statements), look, limit);
}

}  // namespace

table::RecordTable::Ask record_requests(Runtime& runtime, Recipe& recipe, Sessions& sessions,
                                        Duration timeout) {
  const Asking with{runtime, recipe, sessions, timeout};
  return [with](std::vector<SqlStatement> statements, bool look, Deadline deadline) {
    return ask(with, std::move(statements), look, deadline);
  };
}

}  // namespace holdfast::internal::session
