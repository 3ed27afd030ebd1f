// MemoryServer: the server of the engine `memory`: locks in the memory of this process, and the faults that a test
// orders. Clients ask it by serve(), and are told of news in their inboxes.
//
// Thread safety: all of it; its mutex is the last that is taken: inside it only inboxes are.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/fork_watch.h"
#include "base/thread_safety.h"
#include "engines/memory/memory_locks.h"

namespace holdfast::internal {

// A kind of request, to lose one of a kind.
enum class MemoryRequest { acquire, renew, release, record, other };

class MemoryServer {
 public:
  using ClientNumber = MemoryLocks::ProcessId;

  // How a client learns of what others did.
  class Inbox {
   public:
    // Each is called with the server's mutex held, on any thread.
    virtual void on_turn(const ClaimId& waiter) = 0;   // look again
    virtual void on_ended(const ClaimId& holder) = 0;  // its hold was taken away
    virtual void on_change(const Name& watched) = 0;

   protected:
    ~Inbox() = default;
  };

  // The server of this name, for all clients of this process until it ends. `forked` if the parent process had it.
  static Result<std::shared_ptr<MemoryServer>> named(const std::string& name);

  ClientNumber enter(Inbox& inbox);
  // Afterwards nothing comes into its inbox. Its waits end.
  void leave(ClientNumber client);

  // Runs work(MemoryLocks&) as one request about `name` (null: about none, or several), and tells whomever it
  // concerns. A failure, instead of its outcome, if the server is down, or if the request or its reply is lost.
  template <class Work>
  auto serve(MemoryRequest kind, const Name* name, Work work)
      -> Result<decltype(work(std::declval<MemoryLocks&>()))> {
    const CheckedLock lock(mutex_);
    if (down_) return is_down();
    if (take(lost_requests_, kind)) return no_answer();
    auto outcome = work(locks_);
    tell(locks_.take_wakes(), name);
    if (take(lost_replies_, kind)) return no_answer();
    return outcome;
  }

  // While a client waits for a change of this lock.
  void watch(ClientNumber client, const Name& name);
  void unwatch(ClientNumber client, const Name& name);

  // ---- Faults --------------------------------------------------------------------------------

  // When it is up again, all waiters look again.
  void set_down(bool down);
  // The next request of this kind is not executed, or is but not answered: both are unknown to the client.
  void lose_request(MemoryRequest kind);
  void lose_reply(MemoryRequest kind);
  // Takes the lock away from all who hold it, or from the one with this token, and tells them. False if nobody holds.
  bool take_away(const Name& name, std::optional<Token> token, BootTime now);

 private:
  struct Client {
    Inbox* inbox = nullptr;
    std::multiset<Name> watched;
  };

  static Failure is_down();
  static Failure no_answer();
  static bool take(std::map<MemoryRequest, int>& lost, MemoryRequest kind);
  // `changed`: a lock whose watchers are told, if any.
  void tell(const std::vector<table::Wake>& wakes, const Name* changed) HOLDFAST_NEEDS_LOCK(mutex_);
  Inbox* inbox_of(ClientNumber client) HOLDFAST_NEEDS_LOCK(mutex_);

  ForkWatch fork_watch_;
  CheckedMutex mutex_;
  MemoryLocks locks_ HOLDFAST_GUARDED_BY(mutex_);
  std::map<ClientNumber, Client> clients_ HOLDFAST_GUARDED_BY(mutex_);
  bool down_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::map<MemoryRequest, int> lost_requests_ HOLDFAST_GUARDED_BY(mutex_);
  std::map<MemoryRequest, int> lost_replies_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::internal
