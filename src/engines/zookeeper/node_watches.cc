#include "engines/zookeeper/node_watches.h"

#include <map>
#include <utility>

namespace holdfast::internal::zookeeper {

bool NodeWatches::wants_one(const ClaimState& state) {
  // One that holds by a permit writes into its node itself.
  return state.held && !state.sentry && !state.expired() && state.claim.mode != Mode::permit;
}

void NodeWatches::granted(const ClaimState& state) {
  if (wants_one(state) && !std::exchange(posting_, true)) background_.spawn(post());
}

Task<void> NodeWatches::post() {
  constexpr Duration kMoment = std::chrono::milliseconds(100);
  constexpr std::size_t kPart = 200;
  for (States young;;) {
    const BootTime next = runtime_.now() + kMoment;
    const Woken woken = co_await sleep_until(runtime_, next, background_.stop_token());
    if (woken == Woken::cancelled) break;
    std::map<Session*, States> parts;
    TaskGroup group(runtime_);
    for (Claims::State& state : std::exchange(young, {})) {
      if (!wants_one(*state)) continue;
      States& part = parts[state->session.get()];
      part.push_back(std::move(state));
      if (part.size() == kPart) group.spawn(post_at(std::exchange(part, {})));
    }
    for (auto& [session, part] : parts) {
      if (!part.empty()) group.spawn(post_at(std::move(part)));
    }
    static_cast<void>(co_await group.join(Deadline::never()));
    // Those that have come since are young: perhaps they are gone by the next time.
    claims_.for_each_shared([&](const Claims::State& state) {
      if (wants_one(*state)) young.push_back(state);
    });
    if (young.empty()) break;
  }
  posting_ = false;
}

Task<void> NodeWatches::post_at(States states) {
  Requests requests;
  for (const Claims::State& state : states) {
    state->post_sentry();
    requests.get_data(state->node_path(), true);
  }
  const std::shared_ptr<Session> session = states.front()->session;
  const Deadline deadline = Deadline::at(runtime_.now() + request_timeout_);
  const Result<Answers> answers = co_await session->call(std::move(requests), deadline);
  for (std::size_t i = 0; i < states.size(); ++i) {
    ClaimState& state = *states[i];
    const Error error = answers ? answers->replies[i].error : Error::connection_loss;
    if (error == Error::none) continue;
    state.sentry.reset();
    if (error == Error::no_node && state.held && state.on_intrusion) state.on_intrusion();
  }
}

}  // namespace holdfast::internal::zookeeper
