#include "engines/redis/servers.h"

namespace holdfast::internal::redis {

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

}  // namespace holdfast::internal::redis
