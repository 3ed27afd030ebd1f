// Acquisition: one claim's way to its lock. It makes its node, reads the queue, and waits for its predecessor,
// across lost replies, changes of server and expired sessions. Inside the loop only.
//
//   enter ──► decide ──granted──────────────► held
//     ▲         │  ▲                           ▲
//     │         ▼  └─look again──┐             │ its end is the grant (queue.h)
//     │       watch ─────────► wait ───────────┘
//     └──the node is gone: the session expired, or somebody deleted it
#pragma once

#include <functional>
#include <string>

#include "engines/kit/deadlines.h"
#include "engines/zookeeper/claims.h"
#include "engines/zookeeper/lock_nodes.h"
#include "engines/zookeeper/queue.h"

namespace holdfast::internal::zookeeper {

// Until when a claim's hold can be believed, by what its session has proven. Nothing if nothing.
std::optional<Grant> grant_of(const ClaimState& state);

class Acquisition {
 public:
  using Spawn = std::function<void(Task<void>)>;

  // All must outlive it. `spawn` runs what nobody has to wait for.
  Acquisition(Runtime& runtime, LockNodes& nodes, LocalQueue<Predecessor>& local_queue,
              ClaimState& state, const Wait& wait, Duration request_timeout, Spawn spawn)
      : runtime_(runtime),
        nodes_(nodes),
        local_queue_(local_queue),
        state_(state),
        wait_(wait),
        deadlines_(runtime, request_timeout),
        spawn_(std::move(spawn)) {}

  // Fails with unknown if something may be left behind.
  Task<Result<Grant>> run();

 private:
  enum class Next { look, enter, granted };
  using Children = std::vector<std::string>;

  const Claim& claim() const { return state_.claim; }
  Session& session() const { return *state_.session; }

  // Makes the node, or finds the one that was made without our hearing of it. Without the queue
  // if others of this client are before us (see LocalQueue).
  Task<Result<std::optional<Children>>> enter();
  Task<Result<bool>> find_again(Children& children);
  Task<Result<Children>> look();
  // Goes over to the node of an earlier attempt.
  Task<Result<void>> adopt(std::string elder);
  // The lock's numbers have run out: leaves the queue, and comes again soon.
  Task<Result<void>> start_numbers_again();
  Task<Result<Next>> act_on(const Children& children);
  // Until something happened that this claim has to know. The failure is the end of it.
  Task<Result<Next>> wait_behind(const Decision& decision);
  // The same behind other claims of this client: until we are near the front of them.
  Task<Result<Next>> wait_in_local_queue();
  // Until something is told, or a moment has passed. The failure is the end of it.
  Task<Result<void>> rest(BootTime& last_attached, BootTime until);
  // How long until we look without being told: a lost notification is a delay, never a strand.
  Duration own_pace() const;
  // How long servers may stay away.
  Duration patience() const;
  void queue_locally();
  // Tells this client's other claims their predecessors, as far as the queue shows them.
  void inform_others(const Children& children);
  Task<Result<bool>> set_watch(const Decision& decision);
  Task<Result<Grant>> granted();
  // Proves that the session lives, by a look at the claim's own node. False if that is gone.
  Task<Result<bool>> confirm();

  // Withdraws the claim, and answers `why`.
  Task<Result<Grant>> give_up(Failure why);
  // The same in one request that also reads the holder.
  Task<Result<Grant>> give_up_busy(const Decision& decision);
  Task<Result<void>> remove_all();

  Runtime& runtime_;
  LockNodes& nodes_;
  LocalQueue<Predecessor>& local_queue_;
  ClaimState& state_;
  const Wait& wait_;
  const Deadlines deadlines_;
  const Spawn spawn_;
  int restarts_ = 0;
  bool waited_ = false;        // others may wait to hear that this one holds
  Decision kept_out_by_;       // if its holder is known
  bool may_be_there_ = false;  // a node whose name we do not know
  std::optional<LocalQueue<Predecessor>::Entry> queued_;
};

}  // namespace holdfast::internal::zookeeper
