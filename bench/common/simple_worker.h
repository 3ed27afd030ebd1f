// A lock that knows only acquire and release, as a worker of a benchmark (worker.h): what programs do
// by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace holdfast::bench {

// For one thread. Both throw if it cannot be.
class SimpleLock {
 public:
  virtual ~SimpleLock() = default;
  virtual void acquire() = 0;
  virtual void release() = 0;
};
using MakeSimpleLock = std::function<std::unique_ptr<SimpleLock>(const std::string& name)>;

// Obeys the lines on stdin until they end. Returns the exit status.
int be_simple_worker(const MakeSimpleLock& make);

}  // namespace holdfast::bench
