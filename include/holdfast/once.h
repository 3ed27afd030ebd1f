// Once: a job that is done once per period, by whichever machine comes first.
//
//   auto once = client.once("nightly", holdfast::daily("Europe/Berlin", 3h));
//   OnceResult result = once.run([] { make_report(); });
//
// A lock alone does not do that: the job takes a second, the other machine's clock is two seconds behind, and it runs
// twice. So the engine keeps a record of the last run beside the lock, replaced by compare-and-set only:
//
//      none ──┐                      ┌─► done     status 0: nobody runs it again in this period
//      done ──┼─► running ───────────┼─► failed   another status: due again, unless even_if_failed
//   failed… ──┘   (period, token,    └─► lost     the lock was lost, and the command ended for it: due again
//                  run, label)  ▲ │
//                               └─┘ another machine holds the lock now: that run died, or its end could not be recorded
//
// Promises: no period has two runs that are recorded as done; a period that is recorded before another one is never
// opened again. The record is replaced by its run only: one that was paused, lost its lock and was taken over meanwhile
// cannot overwrite what came after it, and is told.
// No promise: that the work itself is done once only. A run that dies between its last step and its record is run
// again, once (the notes say so). Work that must not be done twice needs a fence, or to notice that it was done.
//
// The period is decided under the lock, once per run, by the engine's clock where it has one and by this machine's
// elsewhere. A clock that jumps during a run changes nothing. A period that is not over by the record counts as done,
// also if it has not begun by the clock here: then a clock is wrong, which the notes say.
//
// Two machines with different periods for one job: the job is due when both say so, and the notes say that they differ.
//
// Thread safety: one thread at a time.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/engine.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/lock_request.h"
#include "holdfast/options.h"
#include "holdfast/period.h"
#include "holdfast/result.h"

namespace holdfast {

// The last run of a job, as the engine keeps it.
struct Job {
  enum class State { running, done, failed, lost };

  State state = State::running;
  PeriodSpan period;
  std::string schedule;  // Period::text() of the machine that ran it
  std::string label;     // printable(), cut after 256 bytes: by whom, and where
  ClaimId run;           // drawn for this run
  Token token;           // of the lock that it held
  WallTime started{};    // by the clock that decided the period
  std::optional<WallTime> ended;
  std::optional<int> status;
  std::uint32_t attempt = 1;  // 1: the first run of this period

  friend bool operator==(const Job&, const Job&) = default;
};
HOLDFAST_API const char* to_text(Job::State state);

// A record of the engine, read as a job: misconfigured if it is something else, or of a newer version.
struct StoredJob {
  Name name;
  Result<Job> job;
};

struct OnceOptions {
  LockOptions lock;  // `keep` holds it for longer than the run takes
  std::optional<Duration>
      wait;  // for a lock that is held, and a server that is down; default: until the period ends
  bool even_if_failed = false;  // a run that failed counts as done
};

// Whether a job is to be run.
struct Due {
  enum class Verdict {
    due,
    done,   // `last` is the run that did it
    early,  // the period is as good as over: ask again in `begins_in`, when the next one begins
  };
  Verdict verdict = Verdict::due;
  PeriodSpan period;
  Duration begins_in{};
  Duration left{};          // until the period ends
  std::optional<Job> last;  // in whichever period it was
  // The engine's clock minus that of this machine; none if the engine has no clock, so that this machine's decided.
  std::optional<Duration> clock_difference;
  std::vector<std::string>
      notes;  // for people: what is odd about clocks, periods and runs without an end
};

struct OnceResult {
  enum class Outcome {
    ran,           // recorded as done
    failed,        // recorded as failed
    done_already,  // nothing was run; `job` is the run that did it
    busy,          // nothing was run: the lock was not free in time
    lost,          // it ran, and was taken over meanwhile: the record is another run's
    unrecorded,    // it ran, and its end could not be recorded: it may be run again
    error,         // nothing was run
  };
  Outcome outcome = Outcome::error;
  int status = 0;          // what the function returned
  std::optional<Job> job;  // of this run, or of the one that did it already
  std::optional<Failure> failure;
  std::vector<std::string> notes;  // as in Due
};
HOLDFAST_API const char* to_text(OnceResult::Outcome outcome);

class HOLDFAST_API Once {
 public:
  // Throws LockError: unsupported if the engine keeps no records, invalid_argument if the period is shorter than the
  // ttl, or than `keep`: a run that died would block the next period.
  Once(std::shared_ptr<internal::Locker> locker, Name name, Period period, OnceOptions options);

  // Calls `function`, with the lease if it takes one, if the job is due. It succeeds if it returns nothing, true or 0.
  // An exception is recorded as a failure and passed on. Ask the lease before each step that matters: nobody stops the
  // function when the lock is lost.
  template <class F>
  OnceResult run(F&& function, std::stop_token stop = {}) {
    return run_status([&function](const Lease& lease) { return status_of(function, lease); },
                      std::move(stop));
  }

  // ---- In steps, for those who take the lock themselves -------------------------------------------------------------

  // Without the lock: most often it is done. unreachable if the engine does not answer within one request.
  Result<Due> look(std::stop_token stop = {});
  // Under the lock: records that this run has begun, if it is due. Afterwards the caller runs it if the verdict is
  // `due`, and gives the lock back otherwise; it is never `early`. A server that does not answer is asked again until
  // the lease ends. not_held: the lock was lost, nothing may be run.
  Result<Due> begin(const Lease& lease, std::stop_token stop = {});
  // Records how it ended, before the lock is given back: done if the status is 0. Asks again for two ttls, or until
  // `stop`. not_held: it was taken over, the record is another run's; other failures: it may be run again.
  // REQUIRES: begin() said `due`, and neither end() nor abandon() was called since (LockError, invalid_argument).
  Result<Job> end(int status, std::stop_token stop = {});
  // The same for a run that was ended because its lock was lost.
  Result<Job> abandon(std::stop_token stop = {});
  // The same without blocking. REQUIRES: this object and the lease outlive the call, and stay where they are.
  Async<Result<Due>> async_look(std::stop_token stop = {});
  Async<Result<Due>> async_begin(const Lease& lease, std::stop_token stop = {});
  Async<Result<Job>> async_end(int status, std::stop_token stop = {});
  Async<Result<Job>> async_abandon(std::stop_token stop = {});

  const Name& name() const { return name_; }
  const Period& period() const { return period_; }

 private:
  struct Run;  // what was begun

  template <class F>
  static int status_of(F& function, const Lease& lease) {
    const auto call = [&]() -> decltype(auto) {
      if constexpr (std::invocable<F&, const Lease&>) {
        return function(lease);
      } else {
        return function();
      }
    };
    using Answer = decltype(call());
    if constexpr (std::is_void_v<Answer>) {
      call();
      return 0;
    } else if constexpr (std::is_same_v<std::remove_cvref_t<Answer>, bool>) {
      return call() ? 0 : 1;
    } else {
      return call();
    }
  }

  OnceResult run_status(const std::function<int(const Lease&)>& function, std::stop_token stop);
  Task<Result<Due>> begin_under(const Lease& lease, std::stop_token stop);
  Task<Result<std::optional<Due>>> try_begin(const Lease& lease, std::stop_token stop);
  Result<Lease> acquire(std::optional<Duration> left, std::stop_token stop);
  Result<Due> look_until_begun(std::stop_token stop);
  Task<Result<Due>> look_now(std::stop_token stop);
  Task<Result<Due>> begin_now(const Lease& lease, std::stop_token stop);
  Async<Result<Job>> conclude(Job::State state, std::optional<int> status, std::stop_token stop);
  Task<Result<Job>> conclude_run(std::shared_ptr<Run> run, Job::State state,
                                 std::optional<int> status, std::stop_token stop);

  std::shared_ptr<internal::Locker> locker_;
  Name name_;
  Period period_;
  OnceOptions options_;
  std::shared_ptr<Run> run_;
};

}  // namespace holdfast
