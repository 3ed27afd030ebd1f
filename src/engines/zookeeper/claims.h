// Claims: those of this client that hold or wait, by their id. Inside the loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "engines/kit/local_queue.h"
#include "engines/zookeeper/queue.h"
#include "engines/zookeeper/session.h"
#include "holdfast/engine.h"
#include "holdfast/runtime.h"

namespace holdfast::internal::zookeeper {

// The state of one claim.
class ClaimState final : private Timer {
 public:
  ClaimState(Runtime& runtime, const Claim& the_claim, std::shared_ptr<Session> its_session,
             std::string lock)
      : claim(the_claim),
        session(std::move(its_session)),
        lock_path(std::move(lock)),
        told(runtime),
        runtime_(runtime),
        use_(session) {}
  ~ClaimState() override { runtime_.disarm(*this); }

  // From the request on that sets the watch.
  void post_sentry() {
    sentry.emplace(*session, Session::Watch::Kind::data, node_path(), told, [this] {
      if (held && on_intrusion) on_intrusion();
    });
  }

  const Claim claim;
  const std::shared_ptr<Session> session;
  const std::string lock_path;
  std::string node;  // its name; empty: there is none that we know of
  std::uint64_t incarnation = 0;
  Token token;
  bool held = false;
  bool contended = false;  // others were in the queue when it came
  bool ended = false;      // released, while somebody waits for it
  // Tells when somebody takes its node away, or writes into it.
  std::optional<Session::Watch> sentry;
  std::function<void()> on_intrusion;  // while it holds
  Event told;                          // there is a reason for the one who waits to look

  std::string node_path() const { return lock_path + '/' + node; }
  // The session that the node belongs to is over, and so is the node.
  bool expired() const { return incarnation != session->incarnation(); }

  // Nobody believes in it any longer than that: then it is ended, as if by its holder.
  void believe_until(BootTime moment, std::function<void()> at_the_end) {
    at_the_end_ = std::move(at_the_end);
    runtime_.arm(*this, moment);
  }

 private:
  void on_time() override {
    if (at_the_end_) std::exchange(at_the_end_, nullptr)();
  }

  Runtime& runtime_;
  const Session::Use use_;
  std::function<void()> at_the_end_;
};

class Claims {
 public:
  using State = std::shared_ptr<ClaimState>;

  State find(const ClaimId& id) const {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : found->second;
  }
  void add(const State& state) { all_[state->claim.id] = state; }
  // Not if another has taken its place.
  void forget(const ClaimState& state) {
    const auto found = all_.find(state.claim.id);
    if (found != all_.end() && found->second.get() == &state) all_.erase(found);
  }
  template <class F>
  void for_each(F visit) const {
    for (const auto& [id, state] : all_) visit(*state);
  }
  template <class F>
  void for_each_shared(F visit) const {
    for (const auto& [id, state] : all_) visit(state);
  }
  void clear() { all_.clear(); }

  // Those that wait, by the paths of their locks.
  LocalQueue<Predecessor> queue;

 private:
  std::unordered_map<ClaimId, State> all_;
};

}  // namespace holdfast::internal::zookeeper
