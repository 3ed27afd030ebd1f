#include "job_info.h"

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "duration.h"
#include "lock_info.h"

namespace holdfast::cli {
namespace {

using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string formatted(const std::tm& broken_down, const char* form) {
  char text[64];
  return std::strftime(text, sizeof text, form, &broken_down) > 0 ? text : "?";
}

std::tm local(WallTime moment) {
  const std::time_t time = floor<seconds>(moment.time_since_epoch()).count();
  std::tm broken_down{};
  localtime_r(&time, &broken_down);
  return broken_down;
}

// "2026-11-19T02:00:01.250Z"
std::string utc(WallTime moment) {
  const auto whole = floor<seconds>(moment.time_since_epoch());
  const std::time_t time = whole.count();
  std::tm broken_down{};
  gmtime_r(&time, &broken_down);
  char fraction[16];
  const auto rest = floor<milliseconds>(moment.time_since_epoch() - whole);
  std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(rest.count()));
  return formatted(broken_down, "%Y-%m-%dT%H:%M:%S") + fraction;
}

}  // namespace

std::string shown_time(WallTime moment) { return formatted(local(moment), "%Y-%m-%d %H:%M:%S%z"); }

Json to_json(const Job& job) {
  Json object = {{"state", to_text(job.state)},       {"period_start", utc(job.period.start)},
                 {"period_end", utc(job.period.end)}, {"schedule", job.schedule},
                 {"by", shown_label(job.label)},      {"run", job.run.hex()},
                 {"token", job.token.value()},        {"attempt", job.attempt},
                 {"started", utc(job.started)}};
  if (job.ended) object["ended"] = utc(*job.ended);
  if (job.status) object["status"] = *job.status;
  if (job.state == Job::State::done) object["due"] = utc(job.period.end);
  return object;
}

std::string job_text(const Job& job) {
  std::string text = std::string(to_text(job.state)) + " by " + shown_label(job.label) + ", ";
  if (!job.ended) return text + "since " + shown_time(job.started);
  const bool same_day = formatted(local(job.started), "%F") == formatted(local(*job.ended), "%F");
  text += shown_time(job.started) + " to " +
          (same_day ? formatted(local(*job.ended), "%H:%M:%S") : shown_time(*job.ended));
  if (job.status) text += ", status " + std::to_string(*job.status);
  return text;
}

std::string due_text(const Job& job) {
  return job.state == Job::State::done ? shown_time(job.period.end) : "now";
}

}  // namespace holdfast::cli
