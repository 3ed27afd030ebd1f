// Servers: which Redis server answers for a lock. One server, the master that sentinels name, or
// the node of a cluster that has the lock's slot. Inside the loop only.
#pragma once

#include <memory>
#include <vector>

#include "engines/redis/node.h"

namespace holdfast::internal::redis {

struct Route {
  Node* node = nullptr;
  bool asking = false;  // the slot is on its way there: say ASKING first
};

class Servers {
 public:
  virtual ~Servers() = default;

  // True if a server that is gone is expected to be replaced by another.
  virtual bool fails_over() const = 0;
  // The node for a slot, if it is known without asking anybody.
  virtual Node* known(std::uint16_t slot) = 0;
  // The same, also if that may have changed.
  virtual Node* likely(std::uint16_t slot) { return known(slot); }
  // The same, asking if need be. REQUIRES: the deadline is not far away.
  virtual Task<Result<Route>> find(std::uint16_t slot, Deadline deadline) = 0;

  enum class Advice { give_up, at_once, soon };
  // After an error reply: whether trying again can help. Corrects `route`.
  virtual Task<Advice> after_error(const Reply& error, Route& route, Deadline deadline) = 0;
  // A node could not be reached, or did not answer.
  virtual void suspect(Node& node) = 0;

  // Every node that has locks.
  virtual Task<Result<std::vector<Node*>>> all(Deadline deadline) = 0;
  // Ends background work.
  virtual void stop() = 0;
};

struct ServersSettings {
  ConnectionSettings connection;
  Duration request_timeout = std::chrono::seconds(5);
  std::function<void(const std::string&)> on_info;
  std::vector<Words> questions;  // see Connection
  std::function<Result<void>(const std::vector<Reply>&, const Endpoint&)> on_greeted;
};

// `sentinels` have a login of their own.
std::unique_ptr<Servers> sentinel_servers(Runtime& runtime, const ServersSettings& settings,
                                          std::vector<Endpoint> sentinels,
                                          const Login& sentinel_login, std::string master);
std::unique_ptr<Servers> cluster_servers(Runtime& runtime, const ServersSettings& settings,
                                         std::vector<Endpoint> seeds);

// A node set up as the settings say.
std::unique_ptr<Node> make_node(Runtime& runtime, const ServersSettings& settings,
                                const Connection::Locate& where);
// For a server that stays where it is.
Connection::Locate always_at(Endpoint endpoint);

}  // namespace holdfast::internal::redis
