// Acquisition: one claim's way to its lock. It puts its key into the queue, waits for its predecessors, and leaves
// nothing behind if it gives up. Lives in its caller's coroutine. Inside the loop only.
//
//   outside ──enter──► queued ──────────────► held     its predecessors are gone, its session is proven alive
//     ▲  │              │  │
//     │  │◄─────────────┘  │        the key is gone: its session ended, or somebody deleted it
//     └──┘                 │        no lease, no answer: again after a pause
//        └──► left ◄───────┘        refused, cancelled, released meanwhile, or out of time: the key is removed
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engines/etcd/predecessors.h"
#include "engines/etcd/releases.h"

namespace holdfast::internal::etcd {

class Acquisition {
 public:
  // All must outlive it, and what it spawns in `background`.
  Acquisition(Runtime& runtime, Cluster& cluster, Sessions& sessions, Watcher& watcher,
              Claims& claims, Releases& releases, TaskGroup& background, const Claim& claim,
              const Wait& wait);
  ~Acquisition();
  Acquisition(const Acquisition&) = delete;
  Acquisition& operator=(const Acquisition&) = delete;

  Task<Result<Grant>> run();

  // The claim is being released.
  void end();
  void wake() { predecessors_.watches.changed.set(); }
  void on_predecessor_granted(const std::string& key, Revision created) {
    predecessors_.on_granted(key, created);
  }

 private:
  enum class State { outside, queued, held, left };
  using LocalEntry = LocalQueue<Predecessor>::Entry;
  // Between the events of one wait.
  struct Pace {
    BootTime check_by;  // without having been told anything
    Duration retry = std::chrono::milliseconds(10);
    Duration late = std::chrono::milliseconds(4);
  };

  void move_to(State next);

  // A session, and then the key.
  Task<Result<Position>> enter();
  Task<Result<void>> find_session();
  // The end of it, if there is no sense in another attempt.
  Task<std::optional<Failure>> pause_after(Failure why);

  // Until it holds (true), or its key is gone (false).
  Task<Result<bool>> wait_in_queue(Position position);
  // Behind many other claims of ours, until we are near the front of them.
  Task<Result<void>> wait_behind_ours(Position& position);
  // Until something happens, or it is time to check. The failure is the end of the wait.
  Task<Result<Woken>> wait_for_turn(Pace& pace, bool reading, bool may_be_late);
  // Looks for what we may not have been told.
  Task<Effect> check(Pace& pace, Position& position, bool late);
  // How long until we check without having been told anything: a lost event is a delay, never a strand.
  Duration check_pace() const;

  // not_held: the session was lost at the last moment.
  Task<Result<Grant>> grant(bool waited);
  // The session that the key is on.
  SessionPtr session_of_key() const;
  // Proves that the lease of the key lives, or moves the key to another one.
  Task<Result<void>> refresh_for_grant(SessionPtr& session);
  // Moves the key to a session of the present leader's.
  Task<Result<SessionPtr>> move_key(SessionPtr from);

  Task<Result<Grant>> leave(Failure why);
  // Of a single attempt, when it is not known whether it was executed.
  Task<Result<Grant>> leave_unanswered(Failure why);
  std::optional<Failure> over(Woken woken);
  // Whether it may pass, and has not lasted for too long.
  bool passing(const Failure& failure);
  Failure other_limit(std::uint32_t permits) const;

  Runtime& runtime_;
  Cluster& cluster_;
  Sessions& sessions_;
  Claims& claims_;
  Releases& releases_;
  TaskGroup& background_;
  const Claim claim_;
  const Wait& wait_;
  State state_ = State::outside;
  QueueKey key_;
  std::optional<Sessions::Use> session_;
  bool ended_ = false;
  Duration pause_ = std::chrono::milliseconds(20);
  std::optional<BootTime> troubled_since_;  // no answer has come since
  Predecessors predecessors_;
  std::unique_ptr<LocalEntry> local_entry_;  // After `predecessors_`, which it wakes.
};

}  // namespace holdfast::internal::etcd
