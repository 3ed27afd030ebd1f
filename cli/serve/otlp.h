// Otlp: sends spans to an OpenTelemetry collector: POST /v1/traces with OTLP/JSON, over HTTP in clear, as to a collector
// on the same machine or in the same pod. What it cannot send in time is dropped, and counted: locks never wait for it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <string>

#include "holdfast/result.h"
#include "serve/http.h"

namespace holdfast::cli::serve {

struct Collector {
  std::string host;
  std::string port;
  std::string path;

  // "http://127.0.0.1:4318", with or without a path of its own.
  static Result<Collector> parse(const std::string& url);
};

class Otlp {
 public:
  Otlp(net::io_context& context, Collector collector);

  // From any thread.
  void send(std::string json);
  Awaitable<void> run();
  std::uint64_t dropped() const { return dropped_; }

 private:
  Awaitable<bool> post(const std::string& json);

  net::io_context& context_;
  const Collector collector_;
  net::steady_timer signal_;
  std::deque<std::string> batches_;
  std::uint64_t dropped_ = 0;
};

}  // namespace holdfast::cli::serve
