// Tracer: makes OpenTelemetry spans of what happens to the locks of any number of clients, and hands them over as
// OTLP/JSON (an ExportTraceServiceRequest), for a POST to http://COLLECTOR:4318/v1/traces by whatever HTTP client the
// program has. Nothing of OpenTelemetry is linked.
//
//   holdfast::Tracer tracer({.service = "orders", .sink = [&](std::string json) { sender.push(std::move(json)); }});
//   auto client = holdfast::Client::open(url, {.observer = tracer.observer("redis")}).value();
//   …
//   tracer.flush();   // every few seconds, and at the end
//
// Two spans for each lock:
//
//   TRACEPARENT ─► root (if it has a name) ─► "holdfast wait"   from the call to its end; retries are events
//                                                └► "holdfast hold"   from the grant to release or loss; renewals
//                                                                     that failed, and the loss, are events
//
// A wait that fails, and a hold that is lost or not given back, have the status "error"; a lock that is busy, and a call
// that is cancelled, have not. docs/LOGS.md has all attributes.
//
// Memory is bounded: at most max_open calls and holds are followed at a time, and no more than `batch` finished spans
// are kept. What is beyond that is dropped, and counted. A lease that becomes a handle (Lease::detach()) has no end that
// anybody is told, so its hold is no span.
//
// Thread safety: all of it. A forked child records nothing: it makes its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/export.h"
#include "holdfast/observer.h"
#include "holdfast/time.h"

namespace holdfast {

struct TraceOptions {
  // service.name of the spans. Default: OTEL_SERVICE_NAME, else the program's name.
  std::string service{};
  // A W3C traceparent, of the span that all this is a part of. Default: TRACEPARENT. One that is malformed counts as
  // none; one that is not sampled switches the tracer off. Without one, each call begins a trace, or the root does.
  std::optional<std::string> traceparent{};
  // The name of a span from here to end(), above all others. Empty: there is none.
  std::string root{};
  // Gets a request when `batch` spans have ended, and at flush(). Called inside the loops of clients, one call at a
  // time, and never after the tracer's end: takes the text and returns, without calls of the tracer. What it throws is
  // swallowed, and the spans count as dropped. REQUIRES: not empty.
  std::function<void(std::string json)> sink{};
  std::size_t batch = 64;
  std::size_t max_open = 10'000;
  // The clock of the clients. Default: BootClock. With TestWorld: [&] { return world.now(); }.
  std::function<BootTime()> clock{};
};

class HOLDFAST_API Tracer {
 public:
  explicit Tracer(TraceOptions options);
  // Flushes. Spans that have not ended are dropped.
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // For ClientOptions::observer, of one client or of several; tells `next`, if there is one. May outlive this object.
  std::shared_ptr<Observer> observer(std::string_view engine, std::shared_ptr<Observer> next = {});

  // For what is done below: TRACEPARENT of a child, a header of a request. Of the root; without one as it was given;
  // empty if there is neither.
  std::string traceparent() const;

  // Ends the root; a `failure` is its status. Once; nothing without a root.
  void end(const std::optional<std::string>& failure = {});
  // Hands over what has ended.
  void flush();
  // Spans that nobody will see.
  std::uint64_t dropped() const;

 private:
  class Spans;
  class SpanObserver;
  std::shared_ptr<Spans> spans_;
};

// True for a traceparent that can be used: "00-", 32 and 16 hexadecimal digits, not all zero, and flags.
HOLDFAST_API bool is_traceparent(std::string_view text);

}  // namespace holdfast
