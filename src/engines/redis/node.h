// Node: one Redis server as the engine uses it: the connection on which it asks, the one on which
// it hears, and the claims of this client that wait there. Inside the loop only.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "engines/redis/connection.h"
#include "engines/redis/keys.h"
#include "engines/redis/scripts.h"
#include "engines/redis/subscription.h"

namespace holdfast::internal::redis {

// A script with its keys and arguments.
struct Invocation {
  Script* script;
  const Keys* keys;
  Words arguments;
  std::size_t key_count = SIZE_MAX;  // the first so many of the keys

  // As EVALSHA, or with the whole text.
  std::string command(bool whole) const;
};

class Node {
 public:
  // `channel_per_run`: see Subscription::channel().
  Node(Runtime& runtime, const ConnectionSettings& settings, const Connection::Locate& where,
       Duration request_timeout, bool channel_per_run = false);

  Connection& connection() { return connection_; }
  const Endpoint& endpoint() const { return connection_.endpoint(); }
  std::string channel(std::string_view tag = {}) const { return subscription_.channel(tag); }
  // The server began anew less than `span` ago.
  bool has_restarted_within(Duration span) const;
  bool listening() const { return subscription_.listening(); }

  // An error of the server's is an Answer. With `asking` also a slot that is on its way here.
  Task<Result<Answer>> run(Invocation invocation, bool asking, Deadline deadline,
                           std::stop_token stop = {});
  // Several, in one write; one outcome each.
  Task<std::vector<Result<Answer>>> run_all(const std::vector<Invocation>& invocations,
                                            Deadline deadline);

  // Makes sure that grants are heard, from the server that is asked, also on channel(tag).
  Task<Result<void>> listen(Deadline deadline, std::stop_token stop = {}, std::string tag = {});
  // Has the server tell the waiters of this key when it goes away. False if it cannot; true with
  // their `told` set if it is gone already.
  Task<bool> watch_key(const std::string& key, Deadline deadline);

  // A claim that waits. While there is one, the subscription is pinged.
  class Waiter {
   public:
    // `also` is set with `told`.
    Waiter(Node& node, const Claim& claim, std::string key, Event* also = nullptr);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    Node& node() const { return node_; }

    Event told;  // a grant, or a reason to look
    std::optional<Grant> grant;

   private:
    friend class Node;
    void tell();

    Node& node_;
    Event* also_;
    ClaimId id_;
    std::string key_;
    Duration patience_;
  };

  void stop() { background_.stop(); }
  void drop(const std::string& why);

 private:
  void hear(const PushedGrant& pushed);
  void wake_all();
  Task<void> ping_while_waiting();
  Duration ping_pause() const;
  Deadline request_deadline() const { return Deadline::at(runtime_.now() + request_timeout_); }

  Runtime& runtime_;
  Duration request_timeout_;
  Connection connection_;
  Subscription subscription_;
  // Scripts that run_all has sent on this connection: another one may lead to a server without them.
  std::unordered_set<const Script*> loaded_;
  std::int64_t tracked_by_ = 0;  // the subscription to which the command connection's news go
  std::unordered_map<ClaimId, Waiter*> waiters_;
  bool pinging_ = false;
  Duration pause_{};
  BootTime last_ping_{};
  Event hurry_;  // somebody came who wants to be pinged for more often
  TaskGroup background_;
};

}  // namespace holdfast::internal::redis
