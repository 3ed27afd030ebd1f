#include "serve/daemon.h"

#include <algorithm>
#include <array>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "guarantees_json.h"
#include "holdfast/boost_asio.h"
#include "holdfast/text.h"
#include "serve/files.h"

namespace holdfast::cli::serve {
namespace {

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  return std::ranges::equal(pattern, path, [](const std::string& wanted, const std::string& given) {
    return wanted == "*" || wanted == given;
  });
}

std::string text_of(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& segment : path) text += '/' + segment;
  return text.empty() ? "/" : text;
}

Awaitable<Response> file(std::string path) {
  const File* found = find_file(path);
  if (!found) throw ProblemError(404, "not_found", "there is no such file");
  co_return Response{.content_type = std::string(found->content_type),
                     .body = std::string(found->content)};
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::open(net::io_context& context, const Settings& settings) {
  std::unique_ptr<Daemon> daemon(new Daemon(context, settings));
  if (settings.collector) {
    // Told even if nothing else is logged: traces that do not come are missed late.
    LogOptions log = settings.log.value_or(LogOptions{.level = LogLevel::warn});
    daemon->otlp_ = std::make_unique<Otlp>(*settings.collector, std::move(log));
  }
  auto engines =
      Engines::open(settings, [&](const std::string& name) { return daemon->observer_of(name); });
  if (!engines) return engines.failure();
  daemon->engines_ = std::move(*engines);
  daemon->monitor_ =
      std::make_unique<Monitor>(context, daemon->engines_, daemon->history_, settings.read_only);
  daemon->metrics_page_ = std::make_unique<MetricsPage>(daemon->metrics_, *daemon->monitor_);
  daemon->locks_ = std::make_unique<LockApi>(context, daemon->engines_, daemon->history_);
  daemon->add_routes();
  return daemon;
}

std::shared_ptr<Observer> Daemon::observer_of(const std::string& engine) {
  std::shared_ptr<Observer> observer =
      metrics_.observer(engine, make_tap(context_, history_, engine));
  if (otlp_) observer = otlp_->observer(engine, std::move(observer));
  if (settings_.log) observer = log_observer(engine, *settings_.log, std::move(observer));
  return observer;
}

void Daemon::stop() {
  monitor_->stop();
  locks_->leases().abandon();
}

void Daemon::add_routes() {
  LockApi& locks = *locks_;
  Monitor& monitor = *monitor_;
  using Path = std::vector<std::string>;
  const auto add = [this](const char* method, Path path, Answer answer, Path parameters = {}) {
    routes_.push_back({method, std::move(path), std::move(answer), std::move(parameters)});
  };
  const auto add_open = [this](Path path, Answer answer) {
    routes_.push_back({"GET", std::move(path), std::move(answer), {}, true});
  };
  const Path engine = {"engine"};
  add("GET", {"v1", "locks"}, [&](Request request) { return locks.list(std::move(request)); },
      {"engine", "prefix"});
  add(
      "GET", {"v1", "locks", "*"},
      [&](Request request) { return locks.inspect(std::move(request)); }, engine);
  add(
      "POST", {"v1", "locks", "*"},
      [&](Request request) { return locks.acquire(std::move(request)); }, engine);
  add(
      "POST", {"v1", "locks", "*", "hold"},
      [&](Request request) { return locks.hold(std::move(request)); }, engine);
  add(
      "POST", {"v1", "locks", "*", "break"},
      [&](Request request) { return locks.take_away(std::move(request)); }, engine);
  add("POST", {"v1", "renew"}, [&](Request request) { return locks.renew(std::move(request)); });
  add("POST", {"v1", "release"},
      [&](Request request) { return locks.release(std::move(request)); });
  add("GET", {"v1", "engines"},
      [&](Request request) { return monitor.engines_of(std::move(request)); });
  add(
      "GET", {"v1", "doctor"}, [this](Request request) { return doctor(std::move(request)); },
      engine);
  add("GET", {"v1", "feed"}, [&](Request request) { return monitor.feed(std::move(request)); });
  add("GET", {"v1", "events"}, [&](Request request) { return monitor.events(std::move(request)); },
      {"engine", "name", "path"});
  add("GET", {"v1", "history"},
      [&](Request request) { return monitor.history_of(std::move(request)); },
      {"engine", "name", "path"});
  add("GET", {"v1", "contention"},
      [&](Request request) { return monitor.contention(std::move(request)); });
  add("GET", {"v1", "deadlocks"},
      [&](Request request) { return monitor.deadlocks(std::move(request)); });
  add("GET", {"metrics"}, [this](Request request) { return metrics(std::move(request)); });
  add_open({}, [](Request) { return file("page/index.html"); });
  add_open({"page", "*"}, [](Request request) { return file("page/" + request.path[1]); });
  add_open({"openapi.json"}, [](Request) { return file("openapi.json"); });
  add_open({"healthz"}, [](Request) -> Awaitable<Response> {
    co_return Response{.content_type = "text/plain; charset=utf-8", .body = "ok\n"};
  });
}

// A typing error in a parameter must not take a lock with a default. (The page keeps its own state in its query.)
void Daemon::check_query(const Request& request, const Route& route) {
  if (route.open) return;
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(route.parameters, name) != route.parameters.end()) continue;
    std::string known;
    for (const std::string& each : route.parameters)
      known += (known.empty() ? "; there are " : ", ") + each;
    throw ProblemError(400, "invalid_argument",
                       "there is no parameter " + printable(name, 100) + " here" + known);
  }
}

const Daemon::Route* Daemon::find(const Request& request) const {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  const auto found = std::ranges::find_if(routes_, [&](const Route& route) {
    return route.method == method && matches(route.path, request.path);
  });
  return found == routes_.end() ? nullptr : &*found;
}

Response Daemon::no_route(const Request& request) const {
  std::string allowed;
  for (const Route& route : routes_) {
    if (matches(route.path, request.path))
      allowed += (allowed.empty() ? "" : ", ") +
                 std::string(route.method == std::string_view("GET") ? "GET, HEAD" : route.method);
  }
  if (allowed.empty()) {
    return response_to(
        Problem{404, "not_found",
                "there is nothing at " + printable(request.target, 200) + "; see /openapi.json"});
  }
  Response response =
      response_to(Problem{405, "method_not_allowed", "only " + allowed + " can be done here"});
  response.headers.emplace_back("Allow", allowed);
  return response;
}

Awaitable<Response> Daemon::dispatch(Request request, const Route* route) {
  std::optional<Response> refusal;
  try {
    if (settings_.read_only && std::string_view(route->method) == "POST") {
      throw ProblemError(403, "forbidden", "this daemon only shows locks (--read-only)");
    }
    check_query(request, *route);
    co_return co_await route->answer(std::move(request));
  } catch (const ProblemError& error) {
    refusal = response_to(error.problem());
  } catch (const LockError& error) {
    refusal = response_to(error.failure());
  } catch (const std::exception& error) {
    refusal = response_to(Problem{500, "internal", std::string("internal error: ") + error.what()});
  }
  co_return std::move(*refusal);
}

// Of the route only, not of the target: that may have a lease in it.
void Daemon::log_request(const std::string& method, const Route* route, int status,
                         BootTime began) const {
  if (!settings_.log) return;
  const std::string path = route ? text_of(route->path) : "(none)";
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(BootClock::now() - began).count();
  const std::array<LogField, 4> fields{{{"method", method},
                                        {"route", path},
                                        {"status", static_cast<std::uint64_t>(status)},
                                        {"ms", static_cast<std::uint64_t>(ms)}}};
  log_line(*settings_.log, LogLevel::debug, "request", fields);
}

Awaitable<Response> Daemon::answer(Request request) {
  const BootTime began = BootClock::now();
  const std::string method = request.method;
  const bool well_formed = parse_target(request.target, request);
  const Route* route = well_formed ? find(request) : nullptr;
  Response response;
  if (auto problem = gatekeeper_.refuses(request, route && route->open)) {
    response = response_to(*problem);
  } else if (!well_formed) {
    response = response_to(Problem{400, "invalid_argument", "the request's target is malformed"});
  } else if (!route) {
    response = no_route(request);
  } else {
    response = co_await dispatch(std::move(request), route);
  }
  log_request(method, route, response.status, began);
  metrics_page_->count(route ? text_of(route->path) : "(none)", response.status);
  co_return response;
}

Awaitable<Response> Daemon::doctor(Request request) {
  ServedEngine& engine = engines_.of(request);
  Async<Result<Examination>> call = engine.client.async_examine();
  const Result<Examination> found = co_await initiate(std::move(call), net::use_awaitable);
  if (!found) co_return response_to(found.failure());
  co_return json_response(cli::to_json(*found));
}

Awaitable<Response> Daemon::metrics(Request) {
  const std::size_t connections = connections_ ? connections_() : 0;
  co_return Response{.content_type = Metrics::kContentType,
                     .body = metrics_page_->text(connections, locks_->leases().size())};
}

}  // namespace holdfast::cli::serve
