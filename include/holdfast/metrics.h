// Metrics: counts what happens to the locks of any number of clients, and renders it in the text format of Prometheus
// (version 0.0.4), which any HTTP server can serve.
//
//   holdfast::Metrics metrics;
//   auto client = holdfast::Client::open(url, {.observer = metrics.observer("redis")}).value();
//   …
//   response.set("Content-Type", holdfast::Metrics::kContentType);
//   response.body = metrics.text();
//
// docs/METRICS.md has all metrics, queries for the questions that people ask, a dashboard and alerts. What happens to
// connections (Observer::on_server) is counted by engine, not by server.
//
// The number of series is bounded, whatever names callers choose: beyond MetricsOptions::max_names per engine, locks
// are counted together as name="(other)".
//
// Thread safety: all of it. A forked child has copies of the counts, of locks that it does not hold: it makes its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "holdfast/export.h"
#include "holdfast/observer.h"
#include "holdfast/time.h"

namespace holdfast {

struct MetricsOptions {
  // So many locks of each engine are counted by their own names, first come, first served. Zero: none is.
  std::size_t max_names = 100;
  // The clock of the clients. Default: BootClock. In a test with TestWorld: [&] { return world.now(); }. Called inside
  // the clients' loops, from any of their threads.
  std::function<BootTime()> clock{};
};

class HOLDFAST_API Metrics {
 public:
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  explicit Metrics(MetricsOptions options = {});
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // For ClientOptions::observer, of one client or of several. `engine` is the label by which its locks are told from
  // those of other observers; two observers with the same label count together. All that happens is passed on to
  // `next`, if there is one. May outlive this object.
  std::shared_ptr<Observer> observer(std::string_view engine, std::shared_ptr<Observer> next = {});

  // All metrics, as they are now. Clients are held up only while the counts are copied.
  std::string text() const;

 private:
  class Counts;
  class Counter;
  std::shared_ptr<Counts> counts_;
};

}  // namespace holdfast
