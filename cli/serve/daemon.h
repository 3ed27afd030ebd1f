// Daemon: the parts put together, and which request goes where.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "serve/connection.h"
#include "serve/gatekeeper.h"
#include "serve/lock_api.h"
#include "serve/metrics_page.h"
#include "serve/monitor.h"
#include "serve/otlp.h"
#include "serve/tap.h"

namespace holdfast::cli::serve {

class Daemon final : public Handler {
 public:
  static Result<std::unique_ptr<Daemon>> open(net::io_context& context, const Settings& settings);

  Awaitable<Response> answer(Request request) override;

  void start() { monitor_->start(); }
  // Leases that clients renew go on without us.
  void stop();
  // Nothing that was given back is under way any more.
  bool at_rest() const { return locks_->leases().returns().all_there(); }
  void count_connections(std::function<std::size_t()> count) { connections_ = std::move(count); }

 private:
  using Answer = std::function<Awaitable<Response>(Request)>;
  struct Route {
    const char* method;
    std::vector<std::string> path;  // "*" is any segment
    Answer answer;
    std::vector<std::string> parameters{};  // of its query
    bool open = false;                      // needs no token
  };

  Daemon(net::io_context& context, const Settings& settings)
      : context_(context), settings_(settings), gatekeeper_(settings) {}
  std::shared_ptr<Observer> observer_of(const std::string& engine);
  void log_request(const std::string& method, const Route* route, int status, BootTime began) const;
  void add_routes();
  const Route* find(const Request& request) const;
  Response no_route(const Request& request) const;
  static void check_query(const Request& request, const Route& route);
  Awaitable<Response> dispatch(Request request, const Route* route);
  Awaitable<Response> doctor(Request request);
  Awaitable<Response> metrics(Request request);

  net::io_context& context_;
  const Settings& settings_;
  const Gatekeeper gatekeeper_;
  History history_;
  Metrics metrics_;
  std::unique_ptr<Otlp> otlp_;  // none: nobody wants traces
  Engines engines_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<MetricsPage> metrics_page_;
  std::unique_ptr<LockApi> locks_;
  std::vector<Route> routes_;
  std::function<std::size_t()> connections_;
};

}  // namespace holdfast::cli::serve
