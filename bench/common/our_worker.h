// OurWorker: Holdfast as a worker of a benchmark (worker.h), one client for all that it is told.
#pragma once

#include <string>

namespace holdfast::bench {

// Obeys the lines on stdin until they end. Returns the exit status.
int be_our_worker(const std::string& url);

}  // namespace holdfast::bench
