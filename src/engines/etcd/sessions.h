// Sessions: the etcd leases that the keys of this client hang on. One lease for all claims of the
// same ttl, in whole seconds as etcd has them; and one of its own for a hold that must outlive this
// process. Each is kept alive while it is used, and given back some time after. Inside the loop only.
//
// When a keep-alive is believed. A keep-alive goes to the leader, but not through consensus: a
// leader that was stopped and has been replaced without knowing answers "renewed", while the lease
// ends at its successor. So a keep-alive that was sent at s counts only when a linearizable request
// that was sent after its answer, to the same member, has been answered in the same term. etcd's
// answers carry the term of the newest entry that the member has applied, and a linearizable
// request makes it apply an entry of the present leader's. Then that leader was elected before the
// answer to the keep-alive, still leads after it, and is the one that renewed. Leaders to come
// start every lease anew with its whole ttl. So the lease lives at least until s + ttl.
//
// And only in the term in which the lease was granted. Before 3.4.31 and 3.5.13 (etcd issues 12528 and
// 15247), a leader that was stalled and replaced revokes, when it goes on, all leases that have ended by
// its own clock, though its successor has renewed them; we saw that in 3 of 12 stalls. It cannot have
// seen a lease end that was granted after its time. So with a new term a session is `outdated`: new
// claims get another one, holds are moved to that by their next renewal, and waiters at their next look.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engines/etcd/cluster.h"
#include "holdfast/engine.h"

namespace holdfast::internal::etcd {

struct Session;
using SessionPtr = std::shared_ptr<Session>;

// A hold of this client.
struct HeldKey {
  ClaimId id;
  SessionPtr session;  // that its key hangs on
  std::string key;
  Revision token = 0;
  BootTime ends_at{};  // we remove the key then, unless it is renewed
  // A request for it was not answered, and may be executed when the hold is over.
  bool unsure = false;
  bool ending = false;  // a request to end it was sent, and perhaps not answered
  bool moving = false;  // a request to move it to another lease was sent, and not answered
};

struct Session {
  LeaseId lease = 0;
  Duration ttl{};          // as granted
  std::int64_t ttl_s = 0;  // as asked for
  BootTime confirmed{};    // surely alive until this + ttl
  bool shared = true;      // by all claims of its ttl
  bool lost = false;
  std::uint64_t term = 0;  // of the leader that granted it; 0: another process knows
  bool outdated = false;   // there is another leader: it is not believed any more
  // A request that was not answered may put a key on it later: no claim comes to it any more, and
  // it ends with its last hold.
  bool retired = false;
  int users = 0;
  BootTime unused_since{};
  std::map<std::string, const HeldKey*> held;  // by key; Claims owns them
  std::set<std::string> orphans;               // keys that such requests may make
  // A key of a claim that has used it. A confirmation needs a read, and the user may be allowed to
  // read the keys of its locks only.
  std::string readable;

  bool usable() const { return !lost && !retired && !outdated; }
};

// The answer to a keep-alive, not yet believed.
struct KeepAlive {
  BootTime sent_at;
  std::uint64_t term = 0;
  std::uint64_t connection = 0;
};

// At most as many keys as etcd takes in one transaction (--max-txn-ops is 128 by default).
inline constexpr std::size_t kMaxKeysInTxn = 100;

class Sessions {
 public:
  Sessions(Runtime& runtime, Cluster& cluster)
      : runtime_(runtime), cluster_(cluster), background_(runtime) {}
  ~Sessions() { background_.abandon(); }

  // Holds that were found gone, or whose session was lost.
  std::function<void(const ClaimId&)> on_gone;
  std::function<void()> on_lost;

  // The session for claims of this ttl. `key`: see refresh().
  Task<Result<SessionPtr>> of_ttl(Duration ttl, std::string key, Deadline deadline,
                                  std::stop_token stop);
  // One of its own. Kept alive until forget(), which leaves it to itself, or give_back().
  Task<Result<SessionPtr>> own(Duration ttl, Deadline deadline, std::stop_token stop);
  // The session that has this lease; null if it is none of ours.
  SessionPtr find(LeaseId lease) const;
  void forget(const SessionPtr& session);
  void give_back(const SessionPtr& session);
  // Ends a lease, and with it all keys on it.
  Task<void> revoke(LeaseId lease);

  // Sends a keep-alive. not_held if the lease has ended: the session is lost.
  Task<Result<KeepAlive>> keep_alive(Session& session, Deadline deadline);
  // `header` and `connection`: of the answer to a linearizable request that was sent after the
  // keep-alive was answered. True if they make it believable; then the session is confirmed.
  static bool confirm(Session& session, const KeepAlive& keep_alive, const Header& header,
                      std::uint64_t connection);
  // Keep-alive and confirmation, by reading `key`: one that the user may read. It needs not be there.
  // not_held as above.
  Task<Result<void>> refresh(SessionPtr session, std::string key, Deadline deadline);

  // Whether these keys, with these create revisions, are there. One linearizable read, which also confirms the
  // session. REQUIRES: at most kMaxKeysInTxn; some, or a key to read is known.
  struct Presence {
    bool confirmed = false;
    std::vector<bool> present;
  };
  using KeyRevisions = std::vector<std::pair<std::string, Revision>>;
  Task<Result<Presence>> check_keys(SessionPtr session, KeepAlive keep_alive, KeyRevisions keys,
                                    Deadline deadline);

  // Moves a key to a lease of the present leader's: the shared one for its ttl, or one of its own, which is then kept
  // alive until forget(). Revokes the lease that it was on, if that was its own. not_held if the key is gone.
  // unknown: it may be on either lease, and must be moved again.
  Task<Result<SessionPtr>> move_key(std::string key, Revision token, Duration ttl, SessionPtr from,
                                    bool to_own, Deadline deadline);

  void lose(Session& session);
  // A request for `key` may be executed at any time to come.
  void retire(Session& session, const std::string& key);

  // Stops keeping alive, and revokes the shared leases.
  Task<void> close(Deadline deadline);

  class Use;

 private:
  // One lease is asked for at a time, whoever needs it.
  struct Shared {
    explicit Shared(Runtime& runtime) : opened(runtime) {}
    SessionPtr session;
    bool opening = false;
    Event opened;
    Result<void> outcome;
  };

  Task<Result<SessionPtr>> open(std::int64_t ttl_s, bool shared, Deadline deadline,
                                std::stop_token stop);
  Task<void> open_in_background(std::int64_t ttl_s, std::shared_ptr<Shared> shared);
  Task<void> keep(SessionPtr session);
  // One more keep-alive, which also shows whether the holds are still there.
  Task<void> check(SessionPtr session, Deadline deadline);
  // Removes holds that nobody renews, although the lease lives on.
  Task<void> end_overdue(SessionPtr session, Deadline deadline);
  Task<void> remove_orphans(SessionPtr session, Deadline deadline);

  Runtime& runtime_;
  Cluster& cluster_;
  std::map<std::int64_t, std::shared_ptr<Shared>> shared_;  // by ttl_s
  std::set<SessionPtr> kept_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

// While one lives, the session is in use.
class Sessions::Use {
 public:
  Use(Runtime& runtime, SessionPtr session) : runtime_(&runtime), session_(std::move(session)) {
    ++session_->users;
  }
  Use(Use&& other) noexcept : runtime_(other.runtime_), session_(std::move(other.session_)) {}
  Use& operator=(Use&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(session_, other.session_);
    return *this;
  }
  ~Use() {
    if (!session_) return;
    --session_->users;
    session_->unused_since = runtime_->now();
  }
  Session& operator*() const { return *session_; }
  Session* operator->() const { return session_.get(); }
  const SessionPtr& get() const { return session_; }

 private:
  Runtime* runtime_;
  SessionPtr session_;
};

}  // namespace holdfast::internal::etcd
