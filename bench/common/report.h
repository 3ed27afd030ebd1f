// Report: what was measured, as a table that grows line by line, or as one JSON object. With
// HOLDFAST_BENCH_JSON=FILE in the environment, the same and every repetition also goes to that file.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comparison.h"
#include "disturbance.h"
#include "target.h"

namespace holdfast::bench {

struct Row {
  std::string name;  // in JSON
  std::string what;  // for people
  // One value per repetition (a ratio of two numbers taken side by side, unless `unit` says
  // otherwise). The row's own is their median.
  std::vector<double> values;
  std::string unit;  // "%"; empty for a ratio
  std::optional<Target> target;
  std::string detail;  // the numbers behind it, and which CPU they ran on
  std::vector<std::pair<std::string, double>> figures;  // the same for JSON
};

class Report {
 public:
  explicit Report(bool json) : json_(json), begin_(std::chrono::steady_clock::now()) {}

  // `keeps_data`: the server has some that can be in memory or on a disk.
  void open(const std::string& title, bool keeps_data = true);
  // Shows progress on one line that is overwritten; nothing unless stderr is a terminal.
  void progress(const std::string& text) const;
  void add(Row row);
  void add(Comparison comparison);
  void add(Curve curve);
  // Something that is not as the reader expects: a peer that is left out.
  void note(const std::string& text);
  // Says so if others kept the machine busy during a workload.
  void note_disturbance(const std::string& workload, Disturbance::Shares shares);
  // Calls `measure`; if it throws, the report says so, and the other workloads go on.
  void attempt(const std::string& workload, const std::function<void()>& measure);
  // Returns the exit status: 0 whatever the bars say, 1 if an attempt failed.
  [[nodiscard]] int close() const;

 private:
  void print_line(const Row& row) const;
  std::string dump(int indent) const;
  // The file is written again whenever something comes: a run that is ended leaves what it has.
  void write_file() const;

  bool json_;
  std::chrono::steady_clock::time_point begin_;
  std::string title_;
  std::string data_;
  std::vector<Row> rows_;
  std::vector<Comparison> comparisons_;
  std::vector<Curve> curves_;
  std::vector<std::string> notes_;
  bool failed_ = false;
  std::vector<std::pair<std::string, Disturbance::Shares>> disturbances_;
};

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace holdfast::bench
