// Turn: one claim's way through the queue of its lock: in, waiting, and out again if it gives up.
// Lives in its caller's coroutine. Inside the loop only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/etcd/common.h"
#include "engines/etcd/queue.h"

namespace holdfast::internal::etcd {

class Turn {
 public:
  Turn(Common& common, const Claim& claim, const Wait& wait);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Task<Result<Grant>> take();

  // The claim is being released while it waits.
  void end();
  // Its session may be lost.
  void look_up() { vigil_.told.set(); }
  // A claim of this client holds with that key now.
  void hear_of_holder(const std::string& key, Revision created);

 private:
  enum class Outcome { holds, absent };

  Deadline answer_deadline() const;
  Task<Result<void>> find_session();
  // Sends a transaction that may put our key, and hears the end of it even if the caller gives up.
  Task<Result<Answer>> send(std::string txn);
  // Behind: of no more than our own place, as there are claims of ours before it.
  Task<Result<Standing>> enter(bool behind);
  Task<Result<Standing>> enter_in_order();
  Task<Result<Standing>> enter_if_free();
  Task<Result<Standing>> look(Look how);
  Task<Result<bool>> nothing_happened(Standing& standing);
  // Until we are near the front of our own claims. What ends the wait, if something does.
  Task<std::optional<Failure>> rest();
  // Finds out for all claims of ours in this queue who is before them.
  Task<Result<void>> survey();
  enum class Asked { put, look };
  Result<Standing> standing_in(const Result<Answer>& answer, Asked asked);
  Task<Result<Grant>> try_once();
  Task<Result<Grant>> queue_up();
  Task<Result<Outcome>> wait_for_turn(Standing standing);
  void watch(const Standing& standing);
  void stop_watching();
  // What the watches have told: true if it is our turn; `again` if we must look.
  bool hear(bool& again);
  // Our key to a session of the present leader's, if the one that it hangs on is outdated.
  Task<Result<void>> change_session();
  // Proves that the lease of our key lives, or moves the key.
  Task<Result<void>> refresh_for_grant(SessionPtr& session);
  // not_held: the session was lost at the last moment.
  Task<Result<Grant>> grant(bool waited);
  Task<Result<Grant>> leave(Failure why);
  std::optional<Failure> over(Woken woken);
  // How long until we look without being told: a lost notification is a delay, never a strand.
  Duration own_pace() const;
  // Whether it is something that may pass, and has not lasted for too long.
  bool passing(const Failure& failure);
  void answered() { troubled_since_.reset(); }
  std::string note(bool granted) const;

  Common& common_;
  const Claim claim_;
  const Wait& wait_;
  const Keys keys_;
  const std::string key_;
  const WallTime since_;
  std::optional<Sessions::Use> session_;
  bool clean_ = true;     // our key is not there, nor anything under way that could make it
  bool unsure_ = false;   // a request for our key was not answered
  bool entered_ = false;  // our key has been in the queue
  bool found_ = false;    // an earlier request had put it there: others may have come behind it
  bool ended_ = false;
  Revision created_ = 0;  // of our key, when it was last seen
  LeaseId lease_ = 0;
  std::optional<BootTime> troubled_since_;  // nobody has answered since
  Vigil vigil_;
  std::unique_ptr<LocalQueue<InTheWay>::Entry> place_;  // After what it tells.
  std::vector<InTheWay> watched_;
};

}  // namespace holdfast::internal::etcd
