// The systems beside the embedded engine, as workers (worker.h): bare SQLite, which looks every
// millisecond whether the lock is free, and flock(2), which blocks in the kernel.
#pragma once

#include <string>

namespace holdfast::bench {

// Each obeys the lines on stdin until they end, and returns the exit status.
int be_bare_worker(const std::string& url);
int be_flock_worker(const std::string& url);

}  // namespace holdfast::bench
