#include "engines/zookeeper/renewals.h"

#include <map>

#include "base/require.h"
#include "engines/kit/failures.h"
#include "engines/zookeeper/acquisition.h"

namespace holdfast::internal::zookeeper {

Failure Renewals::not_held(const Name& name) {
  return no_longer_held(name, "its session expired, or it was released or taken away");
}

Task<void> Renewals::renew(std::vector<Item> items, Deadline deadline) {
  // A server refuses packets over 1 MB.
  constexpr std::size_t kMaxBytes = 256 << 10;
  std::map<Session*, std::vector<Part>> parts;
  std::map<Session*, std::size_t> sizes;
  for (Item& item : items) {
    Session* const session = item.state->session.get();
    std::size_t& size = sizes[session];
    size += item.state->lock_path.size() + item.state->node.size();
    std::vector<Part>& of_session = parts[session];
    if (of_session.empty() || size > kMaxBytes) {
      of_session.emplace_back();
      size = item.state->lock_path.size() + item.state->node.size();
    }
    of_session.back().push_back(std::move(item));
  }
  TaskGroup group(runtime_);
  for (auto& [session, all] : parts) {
    for (Part& part : all) group.spawn(renew_part(std::move(part), deadline));
  }
  static_cast<void>(co_await group.join(Deadline::never()));
}

Task<void> Renewals::renew_part(Part part, Deadline deadline) {
  HOLDFAST_REQUIRE(!part.empty());
  const std::shared_ptr<Session> session = part.front().state->session;
  HOLDFAST_REQUIRE_DEBUG(std::all_of(
      part.begin(), part.end(), [&](const Item& item) { return item.state->session == session; }));
  while (!part.empty()) {
    Requests requests;
    {
      Requests::Transaction transaction(requests);
      for (const Item& item : part) {
        // A write into the node of an exclusive holder ends its hold (queue.h).
        const bool any = item.state->claim.mode == Mode::permit;
        transaction.check(item.state->node_path(), any ? -1 : 0);
      }
    }
    const Result<Answers> answers = co_await session->ask(std::move(requests), deadline);
    Part rest;
    const Reply* const reply = answers ? &answers->replies.front() : nullptr;
    for (std::size_t i = 0; i < part.size(); ++i) {
      ClaimState& state = *part[i].state;
      Result<Grant>& outcome = *part[i].outcome;
      const Error step = reply && i < reply->steps.size() ? reply->steps[i] : Error::none;
      const bool ended = step == Error::no_node || step == Error::bad_version;
      if (state.expired() || !state.held || ended) {
        outcome = not_held(state.claim.name);
        reaction_.lost(state, step == Error::bad_version);
      } else if (!reply) {
        outcome = answers.failure();
      } else if (reply->ok()) {
        outcome = *grant_of(state);
        reaction_.renewed(state, *outcome);
      } else if (step == Error::runtime_inconsistency) {
        rest.push_back(std::move(part[i]));  // It was not its fault.
      } else {
        outcome = nodes_.failure_of(*session, reply->error, "reading", state.node_path());
      }
    }
    part = std::move(rest);
  }
}

}  // namespace holdfast::internal::zookeeper
