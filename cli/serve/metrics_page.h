// MetricsPage: /metrics: the library's metrics of this daemon's own clients, what the engines hold, and the daemon itself.
#pragma once

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
  const Metrics& metrics_;
  const Monitor& monitor_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;  // routes are few
};

}  // namespace holdfast::cli::serve
