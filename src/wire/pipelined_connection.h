// PipelinedConnection: a connection on which answers come in the order of the questions. Many calls are under way at a
// time. One that gave up keeps its turn, so that its answers reach nobody else; a server that says nothing at all any
// more is given up. Inside the loop only.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "wire/server_link.h"
#include "wire/silence.h"

namespace holdfast::internal {

class PipelinedConnection : public ServerLink {
 public:
  // True if it cannot be opened, or has left a call unanswered for `patience`. False before the
  // first try: nobody knows yet; and while it is only we who are slow.
  bool unresponsive(Duration patience);

 protected:
  // A call that waits for its answers. Lives in its caller's coroutine.
  class Call {
   public:
    // REQUIRES: what was sent before has its calls already.
    explicit Call(PipelinedConnection& connection, std::size_t answers = 1);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    Event done;
    const BootTime sent_at;
    bool settled = false;  // answered, or broken

   private:
    PipelinedConnection& owner_;
    const std::uint64_t number_;
  };

  PipelinedConnection(Runtime& runtime, std::string server, std::shared_ptr<const TlsContext> tls,
                      Duration connect_timeout)
      : ServerLink(runtime, std::move(server), std::move(tls), connect_timeout),
        silence_(runtime) {}
  // REQUIRES: abandon() was called by the derived class.
  ~PipelinedConnection() = default;
  // Ends what goes on in the background, and lets go of the calls.
  void abandon();

  // The server said something.
  void heard() { silence_.heard(); }
  // Whether an answer is due, and whose it is: null if that one has left.
  bool expects_answer() const override { return !in_flight_.empty(); }
  Call* caller() const { return in_flight_.front().caller; }
  // One answer has come. REQUIRES: expects_answer()
  void take_answer();
  // Settles all calls, after `mark` has told each why.
  template <class Mark>
  void settle_all(const Mark& mark) {
    for (const InFlight& sent : std::exchange(in_flight_, {})) {
      ++first_;
      if (!sent.caller) continue;
      mark(*sent.caller);
      sent.caller->settled = true;
      sent.caller->done.set();
    }
  }
  // After `call` has timed out: ends a connection that says nothing at all.
  void give_up_if_silent(const Call& call);

 private:
  struct InFlight {
    Call* caller;  // null if it has left
    std::size_t missing;
    BootTime sent_at;
  };
  // When the oldest call was sent that has no answer.
  std::optional<BootTime> oldest_sent() const;

  Silence silence_;
  std::deque<InFlight> in_flight_;
  std::uint64_t first_ = 0;  // the number of in_flight_.front()
};

}  // namespace holdfast::internal
