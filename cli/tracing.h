// Tracing: the spans of one command, sent when it has ended: nobody's lock is held longer for them, and no status is
// another because of them. Not thread-safe; used by the main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collector.h"
#include "holdfast/log.h"
#include "holdfast/trace.h"

namespace holdfast::cli {

class Tracing {
 public:
  // `root`: "holdfast run". From now on TRACEPARENT is that of the root span, for what this process starts.
  Tracing(Collector collector, const std::string& root);

  std::shared_ptr<Observer> observer(const std::string& engine, std::shared_ptr<Observer> next) {
    return tracer_.observer(engine, std::move(next));
  }
  // Waits at most two seconds for the collector. REQUIRES: the clients have been closed.
  void finish(int status, const std::optional<LogOptions>& log);

 private:
  const Collector collector_;
  // Written by the tracer alone, until it is flushed.
  std::vector<std::string> requests_;
  Tracer tracer_;
};

}  // namespace holdfast::cli
