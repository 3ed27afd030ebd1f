// Subscription: the connection on which a client hears of grants, and of keys that others deleted.
// It is pinged while somebody waits, for two reasons: a connection that is dead without knowing it
// shows, and a grant that arrives after the answer to a ping was made after that ping was sent;
// that bounds its time without trusting the server's clock. Inside the loop only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_set>

#include "engines/redis/connection.h"
#include "holdfast/engine.h"

namespace holdfast::internal::redis {

struct PushedGrant {
  ClaimId claim;
  Grant grant;
};

// "look CLAIM".
std::optional<ClaimId> parse_pushed_look(std::string_view text);
// "grant CLAIM TOKEN TTL_MS", counted from `proven_at`.
std::optional<PushedGrant> parse_pushed_grant(std::string_view text, BootTime proven_at);

class Subscription {
 public:
  // `channel_per_run`: see channel().
  Subscription(Runtime& runtime, const ConnectionSettings& settings, Connection::Locate where,
               bool channel_per_run);

  std::function<void(const PushedGrant&)> on_grant;
  std::function<void(const ClaimId&)> on_look;      // a waiter should ask
  std::function<void(const std::string&)> on_gone;  // a key that was watched
  std::function<void()> on_lost;

  // Nobody else's: what is published there arrives here or nowhere.
  // "holdfast:NUMBER"; with `channel_per_run` "holdfast:NUMBER:RUN", another one after each restart of the server:
  // it tells on which run of which server it was subscribed to. (Not if the server does not say, because the
  // user may not use INFO.)
  // With a tag, the part of it that is in the slot of a lock: in a cluster the script of a lock may publish in the
  // lock's slot only, where the server makes sharded channels of all (ElastiCache Serverless does). At most one for
  // each slot; they stay until the connection ends.
  std::string channel(std::string_view tag = {}) const {
    return tag.empty() ? channel_ : channel_ + ":" + std::string(tag);
  }
  // When the server began, if it was another run of it that was listened to before.
  const std::optional<BootTime>& server_began_again() const { return server_began_again_; }
  // Makes sure that the server knows the channel, with the tag if there is one.
  Task<Result<void>> listen(Deadline deadline, std::stop_token stop = {}, std::string tag = {});
  bool listening(const std::string& tag = {}) const {
    return listening_ && connection_.connected() && (tag.empty() || tags_.contains(tag));
  }
  const Endpoint& endpoint() const { return connection_.endpoint(); }
  // The server's number for this connection; another one after each reconnection.
  std::int64_t client_id() const { return client_id_; }
  void drop(const std::string& why) { connection_.drop(why); }

  // False, and the connection is given up, if no answer comes by the deadline.
  Task<bool> ping(Deadline deadline);

 private:
  Task<void> subscribe_in_background();
  Task<Result<void>> subscribe(Deadline deadline);
  Task<Result<void>> add_tag(std::string tag, Deadline deadline, std::stop_token stop);
  void on_push(const Reply& reply);
  void on_server_info(const std::string& info);

  Runtime& runtime_;
  Duration patience_;
  std::string base_channel_;
  std::string channel_;
  std::optional<BootTime> server_began_again_;
  Connection connection_;
  bool subscribing_ = false;
  Event subscribed_;
  bool listening_ = false;
  std::unordered_set<std::string> tags_;  // that this connection listens to
  std::int64_t client_id_ = 0;
  BootTime proven_at_{};  // what arrives now was made after this
  Result<void> last_try_;
  TaskGroup background_;  // Last: its task ends before what it uses.
};

}  // namespace holdfast::internal::redis
