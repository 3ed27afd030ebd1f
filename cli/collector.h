// Collector: where the spans of this command go: an OpenTelemetry collector, as OTLP/JSON over HTTP in clear, which is
// what collectors on the same machine or in the same pod take.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "holdfast/result.h"

namespace holdfast::cli {

struct Collector {
  std::string host;
  std::string port;
  std::string path;

  // "http://127.0.0.1:4318": with /v1/traces, unless it has a path of its own. `what` names it in messages.
  static Result<Collector> parse(const std::string& url, const std::string& what);
  // As the variables of OpenTelemetry say. Nothing if they name none, or one that is not for us (gRPC, https): they are
  // for other programs too. `why` says what was wrong with one that cannot be used.
  static std::optional<Collector> from_environment(std::string& why);

  // The beginning of each request.
  std::string head(std::size_t body_bytes) const;
  // For people.
  std::string url() const;
};

// Sends the request, and waits for the answer; until `patience` is over, also where a name is not resolved so soon.
// Empty if it was taken, else why not.
std::string post(const Collector& collector, const std::string& json,
                 std::chrono::milliseconds patience);

}  // namespace holdfast::cli
