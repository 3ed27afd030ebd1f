// RawWorker: a Raw as a worker of a benchmark (worker.h). It also knows
//
//   ping SECONDS                               RATE P50_US of SELECT 1
#pragma once

#include <string>

#include "raw.h"

namespace holdfast::bench {

// Obeys the lines on stdin until they end. `what` is "KIND:PORT". Returns the exit status.
int be_raw_worker(const MakeRaw& make, const std::string& what);

}  // namespace holdfast::bench
