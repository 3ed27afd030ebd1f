// MetricsPage: /metrics: the library's metrics of this daemon's own clients, what the engines hold, and the daemon itself.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "holdfast/metrics.h"
#include "serve/leases.h"
#include "serve/monitor.h"

namespace holdfast::cli::serve {

class MetricsPage {
 public:
  MetricsPage(const Metrics& metrics, const Monitor& monitor)
      : metrics_(metrics), monitor_(monitor) {}

  void count(const std::string& route, int status) { ++requests_[{route, status}]; }
  std::string text(std::size_t connections, std::size_t leases) const;

 private:
  void add_engines(std::string& page) const;
  void add_daemon(std::string& page, std::size_t connections, std::size_t leases) const;

  const Metrics& metrics_;
  const Monitor& monitor_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;  // routes are few
  const std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
};

}  // namespace holdfast::cli::serve
