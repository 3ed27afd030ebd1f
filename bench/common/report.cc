#include "report.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "data_folder.h"
#include "report_json.h"
#include "samples.h"

namespace holdfast::bench {

namespace {

const char* sign(const Target& target) {
  return target.side == Target::Side::at_least ? ">=" : "<=";
}

const char* verdict(const Target& target, double value) {
  if (target.met(value)) return "PASS";
  return target.side == Target::Side::at_least ? "below" : "above";
}

// As many digits as a reader wants of it.
std::string figure(double value) {
  return format(value >= 1000  ? "%.0f"
                : value >= 100 ? "%.0f"
                : value >= 10  ? "%.1f"
                               : "%.2f",
                value);
}

std::string range(const std::vector<double>& values) {
  if (values.size() < 2) return "";
  const auto [low, high] = std::ranges::minmax(values);
  return figure(low) + ".." + figure(high);
}

void print_target(const Target& target, const std::vector<double>& values) {
  std::printf(" %s %-5g %s", sign(target), target.limit, verdict(target, median(values)));
}

void print_target_line(const std::string& what, const Target& target,
                       const std::vector<double>& values) {
  if (values.empty()) return;
  std::printf("    %-54s %7s  %-13s", what.c_str(), figure(median(values)).c_str(),
              range(values).c_str());
  print_target(target, values);
  std::printf("\n");
}

// "p99 310, commands 2.0"
std::string figures_of(const Contestant& contestant) {
  std::string text;
  for (const auto& [name, values] : contestant.figures) {
    if (values.empty()) continue;
    text += (text.empty() ? "" : ", ") + name + " " + figure(median(values));
  }
  return text;
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

void Report::open(const std::string& title, bool keeps_data) {
  data_ = keeps_data ? where_data_is() : "no data that could be on a disk";
  title_ = title + "; " + data_;
  if (json_) return;
  std::printf("%s\n\n%-58s %7s  %-13s %-8s\n", title_.c_str(), "", "median", "of all", "target");
  std::fflush(stdout);
}

void Report::progress(const std::string& text) const {
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

void Report::note(const std::string& text) {
  progress("");
  if (!json_) std::printf("NOTE: %s\n", text.c_str());
  std::fflush(stdout);
  notes_.push_back(text);
  write_file();
}

void Report::add(Row row) {
  progress("");
  if (!json_) print_line(row);
  rows_.push_back(std::move(row));
  write_file();
}

void Report::print_line(const Row& row) const {
  std::printf("%-58s %7s  %-13s", row.what.c_str(),
              format("%.2f%s", median(row.values), row.unit.c_str()).c_str(),
              range(row.values).c_str());
  if (row.target) print_target(*row.target, row.values);
  std::printf("\n    %s\n", row.detail.c_str());
  std::fflush(stdout);  // Before the next fork, or a child might print it again.
}

void Report::add(Comparison comparison) {
  progress("");
  if (!json_) {
    std::printf("%s, %s (%s is better)%s%s\n", comparison.what.c_str(), comparison.unit.c_str(),
                comparison.better == Target::Side::at_least ? "more" : "less",
                comparison.detail.empty() ? "" : "; ", comparison.detail.c_str());
    for (const Contestant& each : comparison.contestants) {
      if (each.values.empty()) {
        std::printf("    %-22s  left out: %s\n", each.name.c_str(), each.note.c_str());
        continue;
      }
      const std::string ratio =
          each.role == Role::ours
              ? ""
              : "ours is " + figure(median(ratios_to(comparison, each.name))) + " of it";
      std::printf("    %-22s %9s  %-17s %-21s %s\n", each.name.c_str(),
                  figure(median(each.values)).c_str(), range(each.values).c_str(), ratio.c_str(),
                  figures_of(each).c_str());
    }
    for (const Target& target : comparison.targets) {
      print_target_line(target.of.empty() ? "Holdfast" : "Holdfast, of " + target.of, target,
                        ratios_to(comparison, target.of));
    }
    std::fflush(stdout);
  }
  comparisons_.push_back(std::move(comparison));
  write_file();
}

void Report::add(Curve curve) {
  progress("");
  if (!json_) {
    std::printf("%s, %s%s%s\n", curve.what.c_str(), curve.unit.c_str(),
                curve.detail.empty() ? "" : "; ", curve.detail.c_str());
    for (const Curve::Series& each : curve.series) {
      std::printf("    %-22s", each.name.c_str());
      for (const Curve::Point& point : each.points) {
        std::printf(" %6g: %-8s", point.x, figure(median(point.values)).c_str());
      }
      std::printf("\n");
      if (each.role != Role::ours) continue;
      for (const double most : curve.growth_at_most) {
        print_target_line(each.name + ": last of first", at_most(most), growth(each));
      }
    }
    std::fflush(stdout);
  }
  curves_.push_back(std::move(curve));
  write_file();
}

void Report::note_disturbance(const std::string& workload, Disturbance::Shares shares) {
  constexpr double kTolerable = 0.05;
  disturbances_.emplace_back(workload, shares);
  if (json_ || shares.others + shares.stolen < kTolerable) return;
  std::printf(
      "    DISTURBED: others used %.2f cores meanwhile and the host took %.2f away; measure "
      "again\n",
      shares.others, shares.stolen);
  std::fflush(stdout);
}

std::string Report::dump(int indent) const {
  const Seconds took = std::chrono::steady_clock::now() - begin_;
  Json all{{"title", title_},
           {"data", data_},
           {"took_s", std::round(took.count())},
           {"rows", Json::array()},
           {"comparisons", Json::array()},
           {"curves", Json::array()},
           {"notes", notes_},
           {"disturbance", Json::object()}};
  for (const Row& row : rows_) all["rows"].push_back(to_json(row));
  for (const Comparison& each : comparisons_) all["comparisons"].push_back(to_json(each));
  for (const Curve& each : curves_) all["curves"].push_back(to_json(each));
  for (const auto& [workload, shares] : disturbances_) {
    all["disturbance"][workload] = {{"others_cores", shares.others},
                                    {"stolen_cores", shares.stolen}};
  }
  return all.dump(indent, ' ', true, Json::error_handler_t::replace);
}

void Report::attempt(const std::string& workload, const std::function<void()>& measure) {
  try {
    measure();
  } catch (const std::exception& error) {
    failed_ = true;
    note(workload + " failed: " + error.what());
  }
}

int Report::close() const {
  if (json_) std::printf("%s\n", dump(-1).c_str());
  write_file();
  return failed_ ? 1 : 0;
}

void Report::write_file() const {
  const char* path = std::getenv("HOLDFAST_BENCH_JSON");
  if (path == nullptr || *path == '\0') return;
  std::ofstream file(path);
  if (!(file << dump(1) << '\n' << std::flush)) {
    throw std::runtime_error(std::string("cannot write ") + path);
  }
}

}  // namespace holdfast::bench
