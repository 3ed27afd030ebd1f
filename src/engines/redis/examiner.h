// Examiner: knows the Redis servers of a client. It asks them together with the login of each connection, which
// costs no round trip of its own. Inside the loop only, but for guarantees().
#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/known_server.h"
#include "engines/redis/facts.h"
#include "engines/redis/servers.h"
#include "holdfast/observer.h"

namespace holdfast::internal::redis {

class Examiner {
 public:
  Examiner(Guarantees promised, Layout layout, std::shared_ptr<Observer> observer)
      : known_(std::move(promised)), layout_(layout), observer_(std::move(observer)) {}

  const Guarantees& guarantees() const { return known_.guarantees(); }
  // The answers to greeting(). misconfigured if this server is unfit.
  Result<void> greet(const std::vector<Reply>& answers, const Endpoint& server);
  // Asks all nodes anew, and how late it is there. The first node that is worse than the others speaks for all.
  Task<Result<Examination>> examine(Runtime& runtime, Servers& servers, Deadline deadline);

 private:
  Task<Result<Examination>> examine_node(Runtime& runtime, Node& node, Deadline deadline);
  void warn_of_eviction(const Examination& found);

  KnownServer known_;
  Layout layout_;
  std::shared_ptr<Observer> observer_;
  bool warned_ = false;
};

}  // namespace holdfast::internal::redis
