#include "recipes/due.h"

#include <algorithm>

#include "base/text.h"
#include "recipes/job_record.h"

namespace holdfast::internal {

namespace {

using namespace std::chrono_literals;

constexpr Duration kWorthTelling = 1s;
// A clock that is set to the wrong day is wrong by more than this.
constexpr Duration kPlausible = 24h;

bool counts(const Job& job, bool even_if_failed) {
  return job.state == Job::State::done || (job.state == Job::State::failed && even_if_failed);
}

std::string short_time(WallTime moment) {
  std::string text = format_time(std::chrono::floor<std::chrono::seconds>(moment));
  text.replace(text.find('.'), std::string::npos, "Z");
  return text;
}

Failure far_ahead(const Name& name, const Job& job, WallTime now) {
  return Failure(Code::misconfigured,
                 "the last run of '" + name.display() + "', by " + job.label +
                     ", was for the period from " + short_time(job.period.start) +
                     ", but here it is " + short_time(now) +
                     ": set this machine's clock right or, if that one's was wrong, make the job "
                     "due again by `holdfast jobs --forget`");
}

void note_schedule(Due& due, const Job& job, const Period& period) {
  if (job.schedule == period.text()) return;
  due.notes.push_back("the last run, by " + job.label +
                      ", was for another period: " + job.schedule + ", not " + period.text() +
                      "; until all machines agree, the job is due when both say so");
}

}  // namespace

Result<Due> decide(const Name& name, const Period& period, const std::optional<Job>& last,
                   WallTime now, bool even_if_failed) {
  Due due;
  due.last = last;
  due.period = period.span_at(now);
  due.left = due.period.end - now;
  // As if it had begun; if the next one is done already, nobody needs to wait for it.
  WallTime asked_at = now;
  if (due.left <= period.lead()) {
    due.verdict = Due::Verdict::early;
    due.begins_in = due.left;
    asked_at = due.period.end;
    due.period = period.span_at(asked_at);
    due.left = due.period.end - now;
  }
  if (!last) return due;

  note_schedule(due, *last, period);
  const bool not_over =
      asked_at < last->period.end || last->started >= period.counts_from(asked_at);
  if (counts(*last, even_if_failed) && not_over) {
    if (last->period.start > now + std::max(2 * period.shortest(), kPlausible)) {
      return far_ahead(name, *last, now);
    }
    due.verdict = Due::Verdict::done;
    due.begins_in = {};
    if (last->period.start > now + kWorthTelling) {
      due.notes.push_back("the period that is done begins at " + short_time(last->period.start) +
                          ", and here it is " + short_time(now) +
                          ": this machine's clock is behind, or that of " + last->label +
                          " was ahead");
    }
    return due;
  }
  if (last->state == Job::State::running) {
    due.notes.push_back("the run that " + last->label + " began at " + short_time(last->started) +
                        " (token " + last->token.str() +
                        ") has no end: it died, or its end could not be recorded; what it had "
                        "done may be done again");
  }
  return due;
}

Job begin_job(const Due& due, const Period& period, const ClaimId& run, Token token,
              const std::string& label, WallTime now) {
  Job job;
  job.period = due.period;
  job.schedule = period.text();
  job.label = printable(label, kMaxLabelBytes);
  job.run = run;
  job.token = token;
  job.started = now;
  const bool again = due.last && due.last->period.start == due.period.start;
  if (again && due.last->attempt < UINT32_MAX) job.attempt = due.last->attempt + 1;
  return job;
}

std::optional<std::string> clock_note(Duration engine_minus_ours, Duration uncertain) {
  const Duration apart = engine_minus_ours < 0s ? -engine_minus_ours : engine_minus_ours;
  if (apart - uncertain <= kWorthTelling) return std::nullopt;
  return "this machine's clock is " + duration_text(apart) +
         (engine_minus_ours > 0s ? " behind" : " ahead of") +
         " the engine's, which decides the period";
}

}  // namespace holdfast::internal
