#include "once.h"

#include <sys/random.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "duration.h"
#include "interrupt.h"
#include "job_info.h"

namespace holdfast::cli {
namespace {

// By the clock that goes on while the machine is suspended. Ends by a signal only if that ends the process.
void rest_for(Duration span) {
  const Duration until = BootClock::now().time_since_epoch() + span;
  const auto whole = std::chrono::floor<std::chrono::seconds>(until);
  const timespec moment{.tv_sec = whole.count(), .tv_nsec = (until - whole).count()};
  while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &moment, nullptr) == EINTR) {
  }
}

Failure wrong(std::string message) { return Failure(Code::invalid_argument, std::move(message)); }

std::optional<Failure> problem_with(const ClaimPlan& claim) {
  if (claim.names.size() > 1) {
    return wrong("--once-per is about one job: give one name only");
  }
  if (claim.mode != Mode::exclusive) {
    return wrong("--once-per needs the lock alone: neither --shared nor --permits go with it");
  }
  return std::nullopt;
}

}  // namespace

void OnceWords::add_to(CLI::App& command) {
  auto* per = command
                  .add_option("--once-per", period,
                              "Run CMD only if nobody has done it in this period: 1h, 1d, 1w, 1mo")
                  ->type_name("PERIOD");
  auto* slides =
      command.add_flag("--sliding", sliding, "The period begins with the last run, not at --at")
          ->needs(per);
  command.add_option("--at", at, "When periods begin, in local time (default: 00:00)")
      ->type_name("HH:MM")
      ->needs(per)
      ->excludes(slides);
  command.add_option("--zone", zone, "Whose local time (default: this system's)")
      ->type_name("ZONE")
      ->needs(per)
      ->excludes(slides);
  command
      .add_flag("--once-even-if-failed", even_if_failed, "A run that failed counts as done, too")
      ->needs(per);
  command
      .add_option("--keep", keep,
                  "Hold the lock at least so long, also if CMD ends, or this machine dies, sooner")
      ->type_name("DURATION");
  command.add_option("--jitter", jitter, "Begin after a random pause of at most so long")
      ->type_name("DURATION");
}

Result<OncePlan> OncePlan::from(const OnceWords& words, ClaimPlan& claim) {
  OncePlan plan;
  if (words.jitter) {
    const Result<Duration> jitter = parse_duration("--jitter", *words.jitter);
    if (!jitter) return jitter.failure();
    plan.jitter = *jitter;
  }
  if (words.keep) {
    const Result<Duration> keep = parse_duration("--keep", *words.keep);
    if (!keep) return keep.failure();
    claim.lock.keep = *keep;
  }
  if (!words.period) return plan;
  if (const std::optional<Failure> problem = problem_with(claim)) return *problem;
  Result<Period> period = Period::parse(
      {.length = *words.period, .at = words.at, .zone = words.zone, .sliding = words.sliding});
  if (!period) return wrong("--once-per: " + period.message());
  plan.period = *period;
  plan.even_if_failed = words.even_if_failed;
  const Duration held = std::max(claim.lock.ttl, claim.lock.keep);
  if (held > period->shortest()) {
    return wrong("--once-per " + *words.period + " is shorter than " +
                 (claim.lock.keep > claim.lock.ttl ? "--keep" : "--ttl") + " (" +
                 format_duration(held) +
                 "): a run that died would block the next period; give a shorter one");
  }
  return plan;
}

void OnceTurn::rest() const {
  if (plan_.jitter == Duration::zero()) return;
  std::uint32_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) return;
  rest_for(Duration(
      static_cast<Duration::rep>(static_cast<double>(plan_.jitter.count()) * (drawn * 0x1.0p-32))));
}

std::optional<int> OnceTurn::look(Client& client) {
  if (!plan_.period) return std::nullopt;
  once_ = client.once(claim_.names.front(), *plan_.period,
                      {.lock = claim_.lock, .wait = {}, .even_if_failed = plan_.even_if_failed});
  for (;;) {
    const ExitOnSignal at_once(session_.json);
    const Result<Due> due = once_->look();
    if (!due) {
      // Taking the lock waits until the engine is back, and says so.
      if (due.code() == Code::unreachable) break;
      return session_.fail(due.failure());
    }
    tell_notes(*due);
    if (due->verdict == Due::Verdict::done) return tell_done(*due);
    if (due->verdict == Due::Verdict::due) {
      if (!claim_.patience) claim_.patience = due->left;
      return std::nullopt;
    }
    if (!claim_.quiet && due->begins_in > std::chrono::seconds(1)) {
      session_.warn("'" + claim_.names.front().display() + "' waits " +
                    format_duration(due->begins_in) + " for the period that begins at " +
                    shown_time(due->period.start));
    }
    rest_for(due->begins_in + std::chrono::milliseconds(1));
  }
  // By this machine's clock.
  const auto now = std::chrono::floor<WallTime::duration>(std::chrono::system_clock::now());
  if (!claim_.patience) claim_.patience = plan_.period->span_at(now).end - now;
  return std::nullopt;
}

std::optional<int> OnceTurn::begin(const Lease& lease) {
  if (!once_) return std::nullopt;
  Interrupt interrupt([&](int signal) { session_.give_up_on(signal); });
  const Result<Due> due = once_->begin(lease, interrupt.token());
  if (const int signal = interrupt.end(); signal != 0) return session_.interrupted_by(signal);
  if (!due) return session_.fail(due.failure());
  tell_notes(*due);
  if (due->verdict == Due::Verdict::done) return tell_done(*due);
  return std::nullopt;
}

int OnceTurn::end(int status) {
  if (!once_) return status;
  Interrupt interrupt;
  Result<Job> ended = once_->end(status, interrupt.token());
  interrupt.end();
  if (!ended) return end_unrecorded(ended.failure(), status);
  ended_ = std::move(*ended);
  outcome_ = status == 0 ? "ran" : "failed";
  return status;
}

void OnceTurn::abandon() {
  if (!once_) return;
  // One attempt: without an entry the next machine finds a run without an end, and takes over as well.
  std::stop_source stopped;
  stopped.request_stop();
  static_cast<void>(once_->abandon(stopped.get_token()));
}

int OnceTurn::end_unrecorded(const Failure& why, int status) {
  const bool taken_over = why.code() == Code::not_held;
  outcome_ = taken_over ? "lost" : "unrecorded";
  session_.warn(
      "the command ended with status " + std::to_string(status) + ", but " +
      (taken_over ? why.message()
                  : "that could not be recorded, so that it may be run again: " + why.message()));
  if (status != 0) return status;
  return taken_over ? kLost : exit_status_of(why.code());
}

void OnceTurn::add_to(Json& report) const {
  if (!once_) return;
  report["once"] = outcome_;
  if (ended_) report["job"] = to_json(*ended_);
}

int OnceTurn::tell_done(const Due& due) const {
  const Name& name = claim_.names.front();
  if (session_.json) {
    Json report;
    put_name(report, name);
    report["once"] = "done_already";
    report["job"] = to_json(*due.last);
    if (due.clock_difference) report["clock_difference_ms"] = to_ms(*due.clock_difference);
    report["status"] = kOk;
    session_.print(report);
  } else if (!claim_.quiet) {
    session_.warn("'" + name.display() + "' is not due until " + shown_time(due.last->period.end) +
                  ": " + job_text(*due.last));
  }
  return kOk;
}

void OnceTurn::tell_notes(const Due& due) {
  for (const std::string& note : due.notes) {
    if (told_.insert(note).second) {
      session_.warn("'" + claim_.names.front().display() + "': " + note);
    }
  }
}

}  // namespace holdfast::cli
