// CommandExecutor: runs a script at the server that answers for its keys, again where that can help,
// also through a failover. The engine and the fence share it. Inside the loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engines/redis/servers.h"
#include "engines/redis/settings.h"

namespace holdfast::internal::redis {

class CommandExecutor {
 public:
  // `servers`: what is asked when a connection is opened, and who hears it; the rest of it is in `settings`.
  CommandExecutor(Runtime& runtime, const Settings& settings, ServersSettings servers);

  // A server's answer, and which server it was.
  struct Performed {
    Answer answer;
    Node* node = nullptr;
    bool repeated = false;  // an earlier attempt may have been executed
  };
  // Called right before each attempt. Pass a std::cref: then nothing is allocated.
  using InvocationFor = std::function<Invocation(Node&)>;

  // REQUIRES: the script may be repeated. With `hear` the node is listened to by the time of
  // invocation_for. unknown if any attempt was sent and none was answered; error replies that
  // do not pass are failures too.
  Task<Result<Performed>> perform(const Keys& keys, InvocationFor invocation_for, bool hear,
                                  Deadline deadline, std::stop_token stop = {});

  // Whether the replicas have it that must (wait_replicas): what went to this node before.
  Task<Result<void>> replicated(Node& node, std::uint64_t generation, Deadline deadline);

  // A write succeeded: the server at this address is, or was, a master.
  void note_write() { written_ = true; }

  // The node for these keys, if it is known without asking anybody.
  Node* known(const Keys& keys) { return servers_->known(slot_for(keys)); }
  // The same, also if that may have changed.
  Node* likely(const Keys& keys) { return servers_->likely(slot_for(keys)); }
  // Of the channel on which a waiter for these keys is told; see Subscription::channel().
  std::string tag_for(const Keys& keys) const {
    return settings_.layout == Layout::cluster ? slot_tag(slot_of(keys.word())) : std::string();
  }
  // By the caller's limit, or by that of one request.
  Deadline request_deadline(Deadline limit) const {
    return limit.sooner(runtime_.now() + settings_.request_timeout);
  }
  const Settings& settings() const { return settings_; }
  Servers& servers() { return *servers_; }

 private:
  Failure failure_at(Node& node, const Reply& error) const;
  Failure on_read_only(Node& node) const;
  std::uint16_t slot_for(const Keys& keys) const {
    return settings_.layout == Layout::cluster ? slot_of(keys.word()) : 0;
  }

  Runtime& runtime_;
  Settings settings_;
  std::unique_ptr<Servers> servers_;
  bool written_ = false;
};

// The policy of a server that may throw keys away to save memory, from its INFO; nothing if it
// does not.
std::optional<std::string> evicting_policy(const std::string& info);

}  // namespace holdfast::internal::redis
