#include "engines/redis/servers.h"

namespace holdfast::internal::redis {

namespace {

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

Connection::Locate always_at(Endpoint endpoint) {
  return
      [endpoint = std::move(endpoint)](Deadline) -> Task<Result<Endpoint>> { co_return endpoint; };
}

std::unique_ptr<Node> make_node(Runtime& runtime, const ServersSettings& settings,
                                const Connection::Locate& where) {
  auto node =
      std::make_unique<Node>(runtime, settings.connection, where, settings.request_timeout, true);
  node->connection().on_info = settings.on_info;
  node->connection().questions = settings.questions;
  node->connection().on_greeted = settings.on_greeted;
  return node;
}

std::unique_ptr<Servers> single_server(Runtime& runtime, const ServersSettings& settings,
                                       Endpoint endpoint) {
  return std::make_unique<SingleServer>(runtime, settings, std::move(endpoint));
}

}  // namespace holdfast::internal::redis
