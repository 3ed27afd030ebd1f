// A lock that knows only acquire and release, as a worker of a benchmark (worker.h): what programs do
// by hand.
#pragma once

#include <functional>
#include <memory>
#include <sstream>
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

struct SimpleWorkerPlan {
  MakeSimpleLock make;
  // For "contend", if that is another lock.
  MakeSimpleLock make_contended = {};
  // Answers lines that others do not know.
  std::function<std::string(const std::string& verb, std::istringstream& words)> answer_other = {};
};

// Obeys the lines on stdin until they end. Returns the exit status.
int be_simple_worker(const SimpleWorkerPlan& plan);
inline int be_simple_worker(const MakeSimpleLock& make) {
  return be_simple_worker(SimpleWorkerPlan{.make = make});
}

}  // namespace holdfast::bench
