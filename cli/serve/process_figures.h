// ProcessFigures: what /metrics says of the daemon's process, by the names that Prometheus' own client libraries use.
#pragma once

namespace holdfast::cli::serve {

struct ProcessFigures {
  double cpu_seconds = 0;
  double open_fds = 0;
  double max_fds = 0;
  double resident_bytes = 0;

  // Zero: it cannot be read.
  static ProcessFigures read();
};

}  // namespace holdfast::cli::serve
