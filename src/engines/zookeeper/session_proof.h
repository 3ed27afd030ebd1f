// SessionProof: until when a session surely lives, from what its servers answered. Pure; times are
// the client's own.
//
// A session ends when its leader has heard nothing of it for its timeout. What does a client that
// is connected to some server know of that?
//
//   - A follower answers pings and reads by itself. It tells the leader who was there only when the
//     leader asks it, twice a tick. A follower that is cut off goes on answering until it notices,
//     and so does a leader that has been replaced. So an answer to a ping proves nothing by itself.
//   - An answer to a write is a majority's: the leader was the leader when it came, and the way
//     from the server to it was whole and in order until then. But it does not restart the
//     leader's timer either, unless we are connected to the leader.
//   - All that the server had answered us one round of the leader's questions before that write
//     was sent has reached the leader by then, for it travels on the same connection, before it.
//     And a new leader counts from the beginning.
//
// So: let s be when a write was sent that was answered since, and a when the newest request was
// sent that had been answered `round` before s. Then the session lives at least until a + timeout.
// A session that was created or attached counts from when that was asked: the leader sees to both.
//
// `round` is 0.3 of the timeout. Leaders ask every half tick, and the shortest timeout is two ticks
// unless somebody sets minSessionTimeout lower than that.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/require.h"
#include "holdfast/time.h"

namespace holdfast::internal::zookeeper {

class SessionProof {
 public:
  // The session was created by a request that was sent at `sent`: a write like any other, and the
  // leader's timer starts with it.
  void created(BootTime sent, Duration timeout) {
    *this = SessionProof();
    timeout_ = timeout;
    reached_ = sent;
    confirmed_ = sent;
  }
  // It was attached to a server, the same or another, by a request that was sent at `sent`. The
  // leader of that server restarts its timer; that it is the leader still, the next write shows.
  void attached(BootTime sent, Duration timeout) {
    timeout_ = timeout;
    attached_ = sent;
    answers_.clear();  // They may have stayed where they were.
  }
  void ended() { *this = SessionProof(); }

  // Any request that was sent at `sent` is answered at `now`.
  void answered(BootTime sent, BootTime now) {
    // A few for each round are enough.
    if (!answers_.empty() && now - answers_.back().heard < timeout_ / 64) return;
    answers_.push_back({sent, now});
  }
  // A write is.
  void confirmed(BootTime sent) {
    if (confirmed_ && sent <= *confirmed_) return;
    confirmed_ = sent;
    if (attached_) reached_ = std::max(reached_, *std::exchange(attached_, std::nullopt));
    const BootTime by = sent - timeout_ * 3 / 10;
    while (!answers_.empty() && answers_.front().heard <= by) {
      reached_ = std::max(reached_, answers_.front().sent);
      answers_.pop_front();
    }
  }

  Duration timeout() const { return timeout_; }
  // When the newest write was sent that has been answered.
  std::optional<BootTime> last_confirmed() const { return confirmed_; }

  // From when a ttl counts that can be believed now: at the end of it the session surely lives.
  // Nothing if no write has been answered. REQUIRES: ttl <= timeout().
  std::optional<BootTime> counted_from(Duration ttl) const {
    HOLDFAST_REQUIRE(!confirmed_ || ttl <= timeout_);
    if (!confirmed_) return std::nullopt;
    return std::min(*confirmed_, reached_ + timeout_ - ttl);
  }

 private:
  struct Answer {
    BootTime sent;
    BootTime heard;
  };

  Duration timeout_{};
  BootTime reached_{};  // the newest that the leader surely knows of
  std::optional<BootTime> attached_;
  std::optional<BootTime> confirmed_;
  std::deque<Answer> answers_;  // that may not have reached the leader, the oldest first
};

}  // namespace holdfast::internal::zookeeper
