#include "report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "samples.h"

namespace holdfast::bench {

namespace {

const char* verdict(const Bar& bar, double value) {
  if (bar.passed(value)) return "PASS";
  return bar.side == Bar::Side::at_least ? "below" : "above";
}

// Names and titles are our own and need no escapes.
std::string json_of(const Row& row) {
  const double value = median(row.values);
  const auto [low, high] = std::minmax_element(row.values.begin(), row.values.end());
  std::string text = format("{\"name\":\"%s\",\"value\":%.4g,\"low\":%.4g,\"high\":%.4g",
                            row.name.c_str(), value, *low, *high);
  if (row.bar) {
    text += format(",\"%s\":%g,\"pass\":%s",
                   row.bar->side == Bar::Side::at_least ? "at_least" : "at_most", row.bar->limit,
                   row.bar->passed(value) ? "true" : "false");
  }
  for (const auto& [key, figure] : row.figures) {
    text += format(",\"%s\":%.6g", key.c_str(), figure);
  }
  return text + "}";
}

}  // namespace

std::string format(const char* pattern, ...) {
  std::va_list arguments;
  va_start(arguments, pattern);
  char text[1024];
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

void Report::open(const std::string& title) {
  title_ = title;
  if (json_) return;
  std::printf("%s\n\n%-58s %7s  %-13s %-8s\n", title.c_str(), "", "median", "of all", "bar");
  std::fflush(stdout);
}

void Report::progress(const std::string& text) const {
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

void Report::add(Row row) {
  progress("");
  if (!json_) print_line(row);
  rows_.push_back(std::move(row));
}

void Report::print_line(const Row& row) const {
  const double value = median(row.values);
  const auto [low, high] = std::minmax_element(row.values.begin(), row.values.end());
  const std::string range = row.values.size() > 1 ? format("%.2f..%.2f", *low, *high) : "";
  std::printf("%-58s %7s  %-13s", row.what.c_str(),
              format("%.2f%s", value, row.unit.c_str()).c_str(), range.c_str());
  if (row.bar) {
    const char* sign = row.bar->side == Bar::Side::at_least ? ">=" : "<=";
    std::printf(" %s %-5g %s", sign, row.bar->limit, verdict(*row.bar, value));
  }
  std::printf("\n    %s\n", row.detail.c_str());
  std::fflush(stdout);  // Before the next fork, or a child might print it again.
}

void Report::note_disturbance(const std::string& workload, Disturbance::Shares shares) {
  constexpr double kTolerable = 0.05;
  disturbances_ +=
      format("%s\"%s\":{\"others_cores\":%.3f,\"stolen_cores\":%.3f}",
             disturbances_.empty() ? "" : ",", workload.c_str(), shares.others, shares.stolen);
  if (json_ || shares.others + shares.stolen < kTolerable) return;
  std::printf(
      "    DISTURBED: others used %.2f cores meanwhile and the host took %.2f away; measure "
      "again\n",
      shares.others, shares.stolen);
  std::fflush(stdout);
}

void Report::close() const {
  if (!json_) return;
  std::string text = "{\"title\":\"" + title_ + "\",\"rows\":[";
  for (std::size_t i = 0; i < rows_.size(); ++i) text += (i > 0 ? "," : "") + json_of(rows_[i]);
  std::printf("%s],\"disturbance\":{%s}}\n", text.c_str(), disturbances_.c_str());
}

}  // namespace holdfast::bench
