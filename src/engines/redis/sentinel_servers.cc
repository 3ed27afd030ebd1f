#include "engines/redis/servers.h"

namespace holdfast::internal::redis {

namespace {

// Asks sentinels where the master is, and listens for its replacement: a client that can reach
// both the old master and the sentinels must not stay with the old one.
class Sentinels {
 public:
  Sentinels(Runtime& runtime, std::vector<Endpoint> endpoints, ConnectionSettings settings,
            std::string master)
      : runtime_(runtime),
        endpoints_(std::move(endpoints)),
        settings_(std::move(settings)),
        master_(std::move(master)),
        background_(runtime) {
    for (const Endpoint& endpoint : endpoints_) {
      asked_.push_back(std::make_unique<Connection>(runtime_, settings_, always_at(endpoint)));
    }
  }

  std::function<void()> on_switched;
  std::function<void(const Endpoint&)> on_located;  // where it is, said unasked

  Task<Result<Endpoint>> locate(Deadline deadline);
  void stop() { background_.stop(); }

 private:
  void listen_at(std::size_t index);
  Task<void> listen(std::size_t index);
  Task<void> listen_to(std::size_t index);

  Runtime& runtime_;
  std::vector<Endpoint> endpoints_;
  ConnectionSettings settings_;
  std::string master_;
  std::vector<std::unique_ptr<Connection>> asked_;
  std::size_t good_ = 0;  // who answered last
  std::unique_ptr<Connection> heard_;
  bool listening_ = false;
  TaskGroup background_;
};

Task<Result<Endpoint>> Sentinels::locate(Deadline deadline) {
  constexpr Duration kPerSentinel = std::chrono::milliseconds(700);
  std::string why;
  std::size_t ignorant = 0;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const std::size_t index = (good_ + i) % asked_.size();
    const Deadline limit = deadline.sooner(runtime_.now() + kPerSentinel);
    std::string command = encode({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_});
    const Result<Answer> answer = co_await asked_[index]->call(std::move(command), limit);
    if (!answer) {
      if (answer.code() == Code::misconfigured) co_return answer.failure();
      why = answer.message();
      continue;
    }
    const Reply& reply = answer->reply;
    if (reply.is_error("ERR unknown command")) {
      co_return Failure(Code::misconfigured, "Redis at " + endpoints_[index].display() +
                                                 " is no sentinel; their port is usually 26379");
    }
    if (reply.is_error()) co_return asked_[index]->refused(reply);
    if (reply.items.size() != 2) {
      why = "the sentinel at " + endpoints_[index].display() + " knows no master '" + master_ + "'";
      if (++ignorant == asked_.size()) {
        co_return Failure(Code::misconfigured, why + ", nor does any other; check the URL");
      }
      continue;
    }
    good_ = index;
    if (!listening_) listen_at(index);
    Endpoint master;
    master.host = reply.at(0).text;
    master.port = static_cast<std::uint16_t>(reply.at(1).as_number());
    co_return master;
  }
  co_return Failure(Code::unreachable, "no sentinel could say where the master is: " + why);
}

void Sentinels::listen_at(std::size_t index) {
  listening_ = true;
  background_.spawn(listen(index));
}

Task<void> Sentinels::listen(std::size_t index) {
  constexpr Duration kPause = std::chrono::seconds(1);
  constexpr Duration kPing = std::chrono::seconds(5);
  const std::stop_token stop = background_.stop_token();
  for (;; ++index) {
    co_await listen_to(index % endpoints_.size());
    // Messages from before the subscription are lost, so ask.
    const Deadline soon = Deadline::at(runtime_.now() + settings_.connect_timeout);
    const Result<Endpoint> master = co_await locate(soon);
    if (master && on_located) on_located(*master);
    while (heard_->connected()) {
      const BootTime next = runtime_.now() + kPing;
      if (co_await sleep_until(runtime_, next, stop) == Woken::cancelled) co_return;
      std::string ping = encode({"PING"});
      const Deadline limit = Deadline::at(runtime_.now() + settings_.connect_timeout);
      const Result<Answer> answer = co_await heard_->call(std::move(ping), limit);
      if (!answer) heard_->drop("no answer to a ping");
    }
    const BootTime next = runtime_.now() + runtime_.jitter(kPause);
    if (co_await sleep_until(runtime_, next, stop) == Woken::cancelled) co_return;
  }
}

Task<void> Sentinels::listen_to(std::size_t index) {
  heard_ = std::make_unique<Connection>(runtime_, settings_, always_at(endpoints_[index]));
  heard_->on_push = [this](const Reply& reply) {
    // "mymaster OLD-HOST OLD-PORT NEW-HOST NEW-PORT"
    if (reply.at(2).text.starts_with(master_ + " ") && on_switched) on_switched();
  };
  const Deadline limit = Deadline::at(runtime_.now() + settings_.connect_timeout);
  std::string command = encode({"SUBSCRIBE", "+switch-master"});
  const Result<Answer> answer = co_await heard_->call(std::move(command), limit);
  if (!answer) heard_->drop("no answer to the subscription");
}

class SentinelServers final : public Servers {
 public:
  SentinelServers(Runtime& runtime, ServersSettings settings, std::vector<Endpoint> sentinels,
                  const Login& sentinel_login, std::string master)
      : sentinels_(runtime, std::move(sentinels), settings_of(settings, sentinel_login),
                   std::move(master)) {
    settings.connection.must_be_master = true;
    node_ = make_node(runtime, settings, [this](Deadline deadline) -> Task<Result<Endpoint>> {
      co_return co_await sentinels_.locate(deadline);
    });
    sentinels_.on_switched = [this] { node_->drop("the sentinels named another master"); };
    sentinels_.on_located = [this](const Endpoint& place) {
      const bool moved = node_->connection().connected() && node_->endpoint() != place;
      if (moved) node_->drop("the sentinels name another master");
    };
  }

  bool fails_over() const override { return true; }
  Node* known(std::uint16_t) override { return node_.get(); }
  Task<Result<Route>> find(std::uint16_t, Deadline) override { co_return Route{node_.get()}; }
  Task<Advice> after_error(const Reply& error, Route& route, Deadline) override {
    // Redis before 7.0 puts its own words around what a script ran into.
    if (error.is_error("READONLY") || error.is_error("MASTERDOWN") ||
        error.text.find("-READONLY ") != std::string::npos) {
      route.node->drop("it is not the master any more");
      co_return Advice::soon;
    }
    co_return error.is_error("LOADING") ? Advice::soon : Advice::give_up;
  }
  void suspect(Node&) override {}
  Task<Result<std::vector<Node*>>> all(Deadline) override {
    co_return std::vector<Node*>{node_.get()};
  }
  void stop() override {
    sentinels_.stop();
    node_->stop();
  }

 private:
  static ConnectionSettings settings_of(const ServersSettings& settings, const Login& login) {
    ConnectionSettings connection = settings.connection;
    connection.login = login;
    connection.must_be_master = false;
    return connection;
  }

  Sentinels sentinels_;
  std::unique_ptr<Node> node_;
};

}  // namespace

std::unique_ptr<Servers> sentinel_servers(Runtime& runtime, const ServersSettings& settings,
                                          std::vector<Endpoint> sentinels,
                                          const Login& sentinel_login, std::string master) {
  return std::make_unique<SentinelServers>(runtime, settings, std::move(sentinels), sentinel_login,
                                           std::move(master));
}

}  // namespace holdfast::internal::redis
