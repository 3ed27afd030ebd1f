#include "recipes/job_record.h"

#include <charconv>
#include <cstdio>
#include <limits>

#include "holdfast/text.h"

namespace holdfast::internal {

namespace {

using namespace std::chrono;  // NOLINT(google-build-using-namespace): calendar

constexpr std::string_view kFormat = "holdfast-job ";
constexpr std::size_t kMaxScheduleBytes = 128;

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool plain = error == std::errc() && rest == text.data() + text.size();
  return plain ? std::optional(value) : std::nullopt;
}

std::optional<Job::State> parse_state(std::string_view text) {
  using State = Job::State;
  for (const State state : {State::running, State::done, State::failed, State::lost}) {
    if (text == to_text(state)) return state;
  }
  return std::nullopt;
}

// Lines "key value", in a fixed order.
class Lines {
 public:
  explicit Lines(std::string_view text) : left_(text) {}

  bool done() const { return left_.empty(); }
  // The value, if the next line has this key.
  std::optional<std::string_view> take(std::string_view key) {
    const std::size_t end = left_.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = left_.substr(0, end);
    if (line.size() <= key.size() || !line.starts_with(key) || line[key.size()] != ' ') {
      return std::nullopt;
    }
    left_.remove_prefix(end + 1);
    return line.substr(key.size() + 1);
  }

 private:
  std::string_view left_;
};

std::optional<PeriodSpan> parse_span(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::optional<WallTime> start = parse_time(text.substr(0, space));
  const std::optional<WallTime> end = parse_time(text.substr(space + 1));
  if (!start || !end || *end <= *start) return std::nullopt;
  return PeriodSpan{*start, *end};
}

// Stores the value; false if there is none.
template <class T, class U>
bool set(T& place, std::optional<U> value) {
  if (value) place = std::move(*value);
  return value.has_value();
}

bool read_text(std::string& place, std::optional<std::string_view> text, std::size_t most) {
  // Unprintable text was not written by us, and goes no further.
  if (!text || text->size() > most || printable(*text, most) != *text) return false;
  place = *text;
  return true;
}

std::optional<Job> parse_lines(Lines lines) {
  Job job;
  const auto value = [&lines](const char* key) { return lines.take(key); };
  const auto text = [&lines](const char* key) { return lines.take(key).value_or(""); };
  const bool whole = set(job.state, parse_state(text("state"))) &&
                     set(job.period, parse_span(text("period"))) &&
                     read_text(job.schedule, value("schedule"), kMaxScheduleBytes) &&
                     read_text(job.label, value("by"), 5 * kMaxLabelBytes) &&
                     set(job.run, ClaimId::from_hex(text("run")));
  if (!whole) return std::nullopt;
  const std::optional<std::uint64_t> token = parse_number<std::uint64_t>(text("token"));
  if (!token) return std::nullopt;
  job.token = Token(*token);
  if (!set(job.attempt, parse_number<std::uint32_t>(text("attempt"))) ||
      !set(job.started, parse_time(text("started")))) {
    return std::nullopt;
  }
  if (const auto ended = value("ended")) {
    job.ended = parse_time(*ended);
    if (!job.ended) return std::nullopt;
  }
  if (const auto status = value("status")) {
    job.status = parse_number<int>(*status);
    if (!job.status) return std::nullopt;
  }
  if (!lines.done() || (job.state == Job::State::running) == job.ended.has_value()) {
    return std::nullopt;
  }
  return job;
}

}  // namespace

std::string format_time(WallTime moment) {
  const auto day = floor<days>(moment);
  const year_month_day date(sys_days(day.time_since_epoch()));
  const hh_mm_ss clock(moment - day);
  char text[48];
  std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::optional<WallTime> parse_time(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kForm[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    return parse_number<int>(text.substr(at, digits)).value_or(0);
  };
  const year_month_day date = year(number(0, 4)) / month(static_cast<unsigned>(number(5, 2))) /
                              day(static_cast<unsigned>(number(8, 2)));
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) {
    return std::nullopt;
  }
  return WallTime(sys_days(date).time_since_epoch() + hours(number(11, 2)) +
                  minutes(number(14, 2)) + seconds(number(17, 2)) + microseconds(number(20, 6)));
}

std::string format_job(const Job& job) {
  std::string text = std::string(kFormat) + "1\n";
  const auto line = [&text](const char* key, const std::string& value) {
    text += std::string(key) + ' ' + value + '\n';
  };
  line("state", to_text(job.state));
  line("period", format_time(job.period.start) + ' ' + format_time(job.period.end));
  line("schedule", printable(job.schedule, kMaxScheduleBytes));
  line("by", printable(job.label, kMaxLabelBytes));
  line("run", job.run.hex());
  line("token", job.token.str());
  line("attempt", std::to_string(job.attempt));
  line("started", format_time(job.started));
  if (job.ended) line("ended", format_time(*job.ended));
  if (job.status) line("status", std::to_string(*job.status));
  return text;
}

Result<Job> parse_job(const Name& name, std::string_view record) {
  const auto refused = [&](const std::string& why) {
    return Failure(Code::misconfigured,
                   "the record of '" + name.display() + "' " + why +
                       "; `holdfast jobs --forget` removes it, after which the job is due");
  };
  const std::size_t end = record.find('\n');
  const std::string_view first = record.substr(0, end);
  if (!first.starts_with(kFormat) || end == std::string_view::npos) {
    return refused("is not a job's: something else wrote it");
  }
  const std::string_view version = first.substr(kFormat.size());
  if (version != "1") {
    return refused("has the format " + printable(version, 20) +
                   ", which this version of holdfast does not know: upgrade it on this machine");
  }
  std::optional<Job> job = parse_lines(Lines(record.substr(end + 1)));
  if (!job) return refused("is damaged");
  return *job;
}

}  // namespace holdfast::internal
