#include "serve/metrics_page.h"

#include <algorithm>
#include <vector>

#include "holdfast/text.h"

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

void sample(std::string& page, const std::string& name, const std::string& labels,
            std::size_t value) {
  page += name + (labels.empty() ? "" : '{' + labels + '}') + ' ' + std::to_string(value) + '\n';
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

std::string MetricsPage::text(std::size_t connections, std::size_t leases) const {
  std::string page = metrics_.text();
  const auto each_engine = [&](const char* name, const char* help, const auto& value_in) {
    describe(page, name, "gauge", help);
    for (const auto& watched : monitor_.watched())
      sample(page, name, engine_label(*watched), value_in(*watched));
  };
  each_engine("holdfast_engine_up", "Whether the engine answered the last look.",
              [](const Watched& watched) { return watched.looked && !watched.failure ? 1U : 0U; });
  each_engine("holdfast_engine_locks", "Locks that are held or waited for, by anybody.",
              [](const Watched& watched) { return watched.locks.size(); });
  each_engine("holdfast_engine_waiters", "Claims that wait, of anybody.",
              [](const Watched& watched) { return watched.waiters; });
  describe(page, "holdfast_queue_length", "gauge",
           "Claims that wait for a lock, of anybody; the longest queues.");
  for (const auto& watched : monitor_.watched()) {
    for (const auto& [length, name] : queues_of(*watched)) {
      sample(page, "holdfast_queue_length", engine_label(*watched) + ",name=\"" + name + '"',
             length);
    }
  }
  describe(page, "holdfast_serve_requests_total", "counter", "Requests answered.");
  for (const auto& [key, count] : requests_) {
    sample(page, "holdfast_serve_requests_total",
           "route=\"" + key.first + "\",status=\"" + std::to_string(key.second) + '"', count);
  }
  describe(page, "holdfast_serve_connections", "gauge", "Open connections.");
  sample(page, "holdfast_serve_connections", "", connections);
  describe(page, "holdfast_serve_leases", "gauge", "Leases that clients must renew.");
  sample(page, "holdfast_serve_leases", "", leases);
  return page;
}

}  // namespace holdfast::cli::serve
