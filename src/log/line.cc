#include "log/line.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/ascii_json.h"
#include "holdfast/text.h"

namespace holdfast::internal {
namespace {

// Of one value. Three of them fit into a line, beside all that is short.
constexpr std::size_t kMaxValue = 1100;

// No localtime() or gmtime(): their lock may be held by nobody in a forked child.
std::string time_text(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<microseconds>(time - day));
  char text[48];
  std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

// In quotes where a reader could not tell its end.
void append_text_value(std::string& out, std::string_view value) {
  std::string shown = printable(value, kMaxValue);
  // Each byte of a name may have become four.
  if (shown.size() > kMaxValue) {
    shown.resize(kMaxValue);
    shown = printable(shown) + "...";  // Half a character may have been cut off.
  }
  if (!shown.empty() && shown.find_first_of(" \"=") == std::string::npos) {
    out += shown;
    return;
  }
  out += '"';
  for (const char c : shown) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

std::string as_text(const LogRecord& record) {
  std::string line = time_text(record.time);
  line.append(" holdfast ").append(log_level_name(record.level)).append(" ").append(record.event);
  for (const LogField& field : record.fields) {
    line.append(" ").append(field.key).append("=");
    if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
      line += std::to_string(*number);
    } else {
      append_text_value(line, std::get<std::string_view>(field.value));
    }
  }
  return line;
}

std::string as_json(const LogRecord& record) {
  std::string line = R"({"time":")" + time_text(record.time) + R"(","level":")" +
                     log_level_name(record.level) + R"(","event":)";
  append_json_string(line, record.event, kMaxValue);
  for (const LogField& field : record.fields) {
    line.append(",\"").append(field.key).append("\":");
    if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
      line += std::to_string(*number);
    } else {
      // People read it in the end, wherever it goes: what acts on a terminal is shown, not hidden behind \u.
      append_json_string(line, printable(std::get<std::string_view>(field.value), kMaxValue),
                         kMaxValue);
    }
  }
  return line + '}';
}

}  // namespace

std::string log_text(LogFormat format, const LogRecord& record) {
  std::string line = format == LogFormat::json ? as_json(record) : as_text(record);
  if (line.size() < kMaxLogLine) return line;
  // Too many long values at once. The last are the least: reasons and servers.
  if (record.fields.empty()) {
    line.resize(kMaxLogLine - 1);
    return line;
  }
  LogRecord shorter = record;
  shorter.fields = record.fields.first(record.fields.size() - 1);
  return log_text(format, shorter);
}

}  // namespace holdfast::internal
