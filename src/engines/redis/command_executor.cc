#include "engines/redis/command_executor.h"

#include <algorithm>

#include "base/server_reporter.h"
#include "engines/redis/facts.h"

namespace holdfast::internal::redis {

namespace {

bool is_read_only(const Reply& error) {
  return error.is_error("READONLY") || error.text.find("-READONLY ") != std::string::npos;
}

// Decides, after an attempt that failed, whether another one can help. Pure.
class Attempts {
 public:
  using Advice = Servers::Advice;

  bool repeated() const { return repeated_; }
  // Two nodes can point at each other for a while.
  Advice after_redirection() {
    constexpr int kMaxRedirections = 5;
    return ++redirections_ > kMaxRedirections ? Advice::soon : Advice::at_once;
  }
  // `lost`: there is no node to ask, and none takes over.
  Advice after(const Failure& failure, Advice advice, bool lost) {
    if (failure.code() == Code::unknown) {
      repeated_ = true;
      return advice;
    }
    const bool passes = failure.code() == Code::unreachable;
    return !passes || (advice == Advice::soon && lost) ? Advice::give_up : advice;
  }
  Duration next_pause() {
    constexpr Duration kLongest = std::chrono::milliseconds(200);
    return std::exchange(pause_, std::min(pause_ * 2, kLongest));
  }
  // An earlier attempt may have been executed, whatever the last one met.
  Failure result(const Failure& last) const {
    const bool hidden = repeated_ && last.code() != Code::unknown;
    return hidden ? Failure(Code::unknown, last.message()) : last;
  }

 private:
  bool repeated_ = false;
  int redirections_ = 0;
  Duration pause_ = std::chrono::milliseconds(5);
};

// One address: there is nothing to find.
class SingleServer final : public Servers {
 public:
  SingleServer(Runtime& runtime, const ServersSettings& settings, Endpoint endpoint)
      : node_(make_node(runtime, settings, always_at(std::move(endpoint)))) {}

  bool fails_over() const override { return false; }
  Node* known(std::uint16_t) override { return node_.get(); }
  Task<Result<Route>> find(std::uint16_t, Deadline) override { co_return Route{node_.get()}; }
  Task<Advice> after_error(const Reply& error, Route&, Deadline) override {
    // A server that has just been started, or is being saved by a long script.
    const bool passes = error.is_error("LOADING") || error.is_error("BUSY");
    co_return passes ? Advice::soon : Advice::give_up;
  }
  void suspect(Node&) override {}
  Task<Result<std::vector<Node*>>> all(Deadline) override {
    co_return std::vector<Node*>{node_.get()};
  }
  void stop() override { node_->stop(); }

 private:
  std::unique_ptr<Node> node_;
};

}  // namespace

CommandExecutor::CommandExecutor(Runtime& runtime, const Settings& settings,
                                 ServersSettings servers)
    : runtime_(runtime), settings_(settings) {
  servers.connection = settings_.connection;
  servers.request_timeout = settings_.request_timeout;
  switch (settings_.layout) {
    case Layout::single:
      servers_ = std::make_unique<SingleServer>(runtime, servers, settings_.endpoints.front());
      break;
    case Layout::sentinel:
      servers_ = sentinel_servers(runtime, servers, settings_.endpoints, settings_.sentinel_login,
                                  settings_.master);
      break;
    case Layout::cluster: servers_ = cluster_servers(runtime, servers, settings_.endpoints); break;
  }
}

Task<Result<CommandExecutor::Performed>> CommandExecutor::perform(const Keys& keys,
                                                                  InvocationFor invocation_for,
                                                                  bool hear, Deadline deadline,
                                                                  std::stop_token stop) {
  using Advice = Servers::Advice;
  const std::uint16_t slot = slot_for(keys);
  Route route;
  Attempts attempts;
  for (;;) {
    Failure failure(Code::unreachable, {});
    Advice advice = Advice::soon;
    const Node* refused_by = nullptr;
    if (!route.node) route.node = servers_->known(slot);
    if (!route.node) {
      Result<Route> found = co_await servers_->find(slot, deadline);
      if (found) {
        route = *found;
      } else {
        failure = found.failure();
      }
    }
    if (route.node) {
      Node& node = *route.node;
      Result<void> ready;
      if (hear) ready = co_await node.listen(deadline, stop, tag_for(keys));
      Result<Answer> answer(Failure(Code::unreachable, {}));
      if (ready) {
        answer = co_await node.run(invocation_for(node), route.asking, deadline, stop);
      } else {
        answer = ready.failure();
      }
      if (answer && !answer->reply.is_error()) {
        co_return Performed{std::move(*answer), &node, attempts.repeated()};
      }
      if (answer) {
        failure = failure_at(node, answer->reply);
        refused_by = &node;
        advice = co_await servers_->after_error(answer->reply, route, deadline);
        if (advice == Advice::at_once) {  // Being sent on is no misconfiguration.
          failure = Failure(Code::unreachable, failure.message());
          advice = attempts.after_redirection();
        }
      } else {
        failure = answer.failure();
        servers_->suspect(node);
        route = Route{};
      }
    }
    advice = attempts.after(failure, advice, !route.node && !servers_->fails_over());
    const BootTime now = runtime_.now();
    const BootTime again = now + runtime_.jitter(attempts.next_pause(), 0.5);
    if (advice == Advice::give_up || deadline.passed(now) || stop.stop_requested() ||
        (!deadline.is_never() && again >= deadline.moment())) {
      if (refused_by) report_refused(runtime_, refused_by->endpoint().display(), failure);
      co_return attempts.result(failure);
    }
    if (advice == Advice::soon) static_cast<void>(co_await sleep_until(runtime_, again, stop));
  }
}

Failure CommandExecutor::failure_at(Node& node, const Reply& error) const {
  const bool read_only = settings_.layout == Layout::single && is_read_only(error);
  return read_only ? on_read_only(node) : failure_of(error, node.endpoint());
}

// A replica from the beginning is the wrong address. A master that was demoted is waited for: behind one
// address a failover may lead to another server, but only on another connection.
Failure CommandExecutor::on_read_only(Node& node) const {
  const std::string where = "Redis at " + node.endpoint().display() + ": it is a read-only replica";
  if (!written_) {
    return Failure(Code::misconfigured, where +
                                            "; give the master's address, or follow failovers by "
                                            "redis+sentinel://");
  }
  node.drop("it has become a replica");
  return Failure(Code::unreachable, where + " now, not the master any more");
}

Task<Result<void>> CommandExecutor::replicated(Node& node, std::uint64_t generation,
                                               Deadline deadline) {
  if (settings_.wait_replicas == 0) co_return Result<void>();
  // On another connection, or with another master, WAIT would know nothing of what was written.
  if (!node.connection().connected() || node.connection().generation() != generation) {
    co_return Failure(Code::unreachable, "Redis at " + node.endpoint().display() +
                                             ": the connection broke before replicas confirmed it");
  }
  const auto patience = std::min<Duration>(settings_.request_timeout / 2, std::chrono::seconds(1));
  const std::string count = std::to_string(settings_.wait_replicas);
  const std::string milliseconds =
      std::to_string(std::chrono::ceil<std::chrono::milliseconds>(patience).count());
  std::string command = encode({"WAIT", count, milliseconds});
  const Result<Answer> answer = co_await node.connection().call(std::move(command), deadline);
  if (!answer) co_return answer.failure();
  if (answer->reply.is_error()) co_return node.connection().refused(answer->reply);
  if (answer->reply.as_number() >= settings_.wait_replicas) co_return Result<void>();
  co_return Failure(Code::unreachable, "Redis at " + node.endpoint().display() + ": only " +
                                           std::to_string(answer->reply.as_number()) + " of " +
                                           count + " replicas (wait_replicas) confirmed it");
}

std::optional<std::string> evicting_policy(const std::string& info) {
  std::string policy = info_field(info, "maxmemory_policy");
  const bool endless = info_field(info, "maxmemory") == "0";
  if (policy.empty() || policy == "noeviction" || endless) return std::nullopt;
  return policy;
}

}  // namespace holdfast::internal::redis
