#include "serve/metrics_page.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "holdfast/text.h"
#include "holdfast/version.h"
#include "serve/process_figures.h"

namespace holdfast::cli::serve {
namespace {

constexpr std::size_t kMaxNames = 100;
constexpr std::size_t kMaxValueBytes = 200;

// Between quotes, on one line.
std::string value_of(std::string_view bytes) {
  std::string value;
  for (const char each : printable(bytes, kMaxValueBytes)) {
    if (each == '\\' || each == '"') value += '\\';
    value += each;
  }
  return value;
}

void describe(std::string& page, const char* name, const char* type, const char* help) {
  page += std::string("# HELP ") + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
}

void sample(std::string& page, const std::string& name, const std::string& labels, double value) {
  char digits[32];  // printf() would write the decimal point of the locale
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  page += name + (labels.empty() ? "" : '{' + labels + '}') + ' ' + std::string(digits, end) + '\n';
}

void single(std::string& page, const char* name, const char* type, const char* help, double value) {
  describe(page, name, type, help);
  sample(page, name, "", value);
}

double seconds(std::chrono::nanoseconds span) {
  return std::chrono::duration<double>(span).count();
}

double longest_wait(const Watched& watched) {
  return watched.points.empty() ? 0
                                : static_cast<double>(watched.points.back().longest_wait_ms) / 1e3;
}

std::string engine_label(const Watched& watched) {
  return "engine=\"" + value_of(watched.engine->name) + '"';
}

using Queue = std::pair<std::size_t, std::string>;  // how many wait, for which name

// The longest ones.
std::vector<Queue> queues_of(const Watched& watched) {
  std::map<std::string, std::size_t>
      by_value;  // names that look the same are one: no sample comes twice
  for (const auto& [name, lock] : watched.locks) {
    if (!lock.waiters.empty()) by_value[value_of(name)] += lock.waiters.size();
  }
  std::vector<Queue> queues;
  for (auto& [value, length] : by_value) queues.emplace_back(length, value);
  std::ranges::sort(queues, std::greater<>());
  if (queues.size() > kMaxNames) queues.resize(kMaxNames);
  return queues;
}

}  // namespace

void MetricsPage::add_engines(std::string& page) const {
  const auto each_engine = [&](const char* name, const char* help, const auto& value_in) {
    describe(page, name, "gauge", help);
    for (const auto& watched : monitor_.watched())
      sample(page, name, engine_label(*watched), static_cast<double>(value_in(*watched)));
  };
  each_engine("holdfast_engine_up", "Whether the engine answered the last look.",
              [](const Watched& watched) { return watched.looked && !watched.failure ? 1 : 0; });
  each_engine("holdfast_engine_look_seconds", "How long the last look at the engine took.",
              [](const Watched& watched) { return seconds(watched.took); });
  describe(page, "holdfast_engine_look_age_seconds", "gauge",
           "How long ago the last look began that succeeded: so old are the figures from looks.");
  for (const auto& watched : monitor_.watched()) {
    if (watched->at == std::chrono::steady_clock::time_point()) continue;
    sample(page, "holdfast_engine_look_age_seconds", engine_label(*watched),
           seconds(std::chrono::steady_clock::now() - watched->at));
  }
  each_engine("holdfast_engine_locks", "Locks that are held or waited for, by anybody.",
              [](const Watched& watched) { return watched.locks.size(); });
  each_engine("holdfast_engine_waiters", "Claims that wait, of anybody.",
              [](const Watched& watched) { return watched.waiters; });
  each_engine("holdfast_engine_longest_wait_seconds",
              "How long the claim that waits longest has waited, of anybody.", longest_wait);
  describe(page, "holdfast_queue_length", "gauge",
           "Claims that wait for a lock, of anybody; the longest queues.");
  for (const auto& watched : monitor_.watched()) {
    for (const auto& [length, name] : queues_of(*watched)) {
      sample(page, "holdfast_queue_length", engine_label(*watched) + ",name=\"" + name + '"',
             static_cast<double>(length));
    }
  }
  const std::vector<Deadlock>& found = monitor_.deadlock_watch().found();
  const auto possible = std::ranges::count_if(found, &Deadlock::only_possible);
  describe(page, "holdfast_deadlocks", "gauge",
           "Circles of owners that wait for each other, across all engines.");
  sample(page, "holdfast_deadlocks", "certain=\"true\"",
         static_cast<double>(found.size()) - static_cast<double>(possible));
  sample(page, "holdfast_deadlocks", "certain=\"false\"", static_cast<double>(possible));
}

void MetricsPage::add_daemon(std::string& page, std::size_t connections, std::size_t leases) const {
  describe(page, "holdfast_serve_requests_total", "counter", "Requests answered.");
  for (const auto& [key, count] : requests_) {
    sample(page, "holdfast_serve_requests_total",
           "route=\"" + key.first + "\",status=\"" + std::to_string(key.second) + '"',
           static_cast<double>(count));
  }
  single(page, "holdfast_serve_connections", "gauge", "Open connections.",
         static_cast<double>(connections));
  single(page, "holdfast_serve_leases", "gauge", "Leases that clients must renew.",
         static_cast<double>(leases));
  describe(page, "holdfast_build_info", "gauge", "Always 1; the label says which version this is.");
  sample(page, "holdfast_build_info", "version=\"" HOLDFAST_VERSION "\"", 1);
  const ProcessFigures process = ProcessFigures::read();
  single(page, "process_cpu_seconds_total", "counter", "CPU time that the daemon has used.",
         process.cpu_seconds);
  single(page, "process_open_fds", "gauge", "Open file descriptors.", process.open_fds);
  single(page, "process_max_fds", "gauge", "How many file descriptors may be open.",
         process.max_fds);
  single(page, "process_resident_memory_bytes", "gauge", "Memory that is in RAM.",
         process.resident_bytes);
  single(page, "process_start_time_seconds", "gauge", "When the daemon was started, Unix time.",
         seconds(started_.time_since_epoch()));
}

std::string MetricsPage::text(std::size_t connections, std::size_t leases) const {
  std::string page = metrics_.text();
  add_engines(page);
  add_daemon(page, connections, leases);
  return page;
}

}  // namespace holdfast::cli::serve
