// Otlp: traces the clients of this daemon, and sends the spans to an OpenTelemetry collector. On a thread of its own: a
// collector that is down or slow costs spans, which are counted, and nothing else.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "collector.h"
#include "holdfast/log.h"
#include "holdfast/trace.h"

namespace holdfast::cli::serve {

class Otlp {
 public:
  // `log` hears of what could not be sent, at most once a minute.
  Otlp(Collector collector, LogOptions log);
  // Sends what is left, within two seconds or so. REQUIRES: the clients have been closed.
  ~Otlp();
  Otlp(const Otlp&) = delete;
  Otlp& operator=(const Otlp&) = delete;

  std::shared_ptr<Observer> observer(const std::string& engine, std::shared_ptr<Observer> next) {
    return tracer_.observer(engine, std::move(next));
  }

 private:
  void take(std::string request);
  void work();
  // False once nothing is left and the end has come.
  bool next(std::string& request);
  void tell(const std::string& why);

  const Collector collector_;
  const LogOptions log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> requests_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t dropped_ = 0;  // requests
  bool ending_ = false;
  std::chrono::steady_clock::time_point told_{};
  Tracer tracer_;
  std::thread worker_;
};

}  // namespace holdfast::cli::serve
