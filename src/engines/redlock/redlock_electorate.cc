#include "engines/redlock/redlock_electorate.h"

#include <map>

#include "base/text.h"
#include "engines/quorum/tally.h"
#include "engines/redlock/redlock_engine.h"

namespace holdfast::internal::redlock {

RedlockElectorate::RedlockElectorate(Runtime& runtime, const std::vector<redis::Settings>& nodes,
                                     const quorum::QuorumOptions& options, Duration usual_longest,
                                     std::shared_ptr<Observer> observer)
    : runtime_(runtime),
      options_(options),
      observer_(std::move(observer)),
      prefix_(nodes.front().prefix),
      guarantees_(redlock_guarantees()),
      membership_(runtime, voters_, scripts_,
                  {options.node_timeout, redis::milliseconds_of(usual_longest)},
                  [this](const std::string& text) { warn(text); }),
      opened_(runtime),
      background_(runtime) {
  guarantees_.recipe = std::to_string(quorum::majority_of(nodes.size())) + " of " +
                       std::to_string(nodes.size()) + " masters";
  for (const redis::Settings& node : nodes) {
    voters_.push_back(std::make_unique<RedisVoter>(runtime, node, scripts_, options.node_timeout,
                                                   [this] { on_identity(); }));
  }
}

void RedlockElectorate::warn(const std::string& text) {
  if (observer_) observer_->on_warning(printable(text));
}

// Two names of one server would give it two votes.
void RedlockElectorate::on_identity() {
  std::map<std::string, std::string> known;
  std::string forgetful;
  problem_.reset();
  for (const auto& voter : voters_) {
    const Identity& identity = voter->identity();
    if (identity.run_id.empty()) continue;
    const auto [first, fresh] = known.emplace(identity.run_id, voter->endpoint().display());
    if (!fresh) {
      problem_ = Failure(Code::misconfigured,
                         first->second + " and " + voter->endpoint().display() +
                             " are the same Redis server; Redlock needs independent ones");
    }
    if (!identity.keeps_data) {
      forgetful += (forgetful.empty() ? "" : ", ") + voter->endpoint().display();
    }
    if (!identity.evicts.empty() && !warned_) {
      warned_ = true;
      warn("Redis at " + voter->endpoint().display() +
           " may evict locks when its memory is full (maxmemory-policy " + identity.evicts +
           "): set noeviction, or use a server of its own for locks");
    }
  }
  guarantees_.notes = redlock_guarantees().notes;
  if (size() == 1) guarantees_.notes += " With one node its loss of data is not noticed.";
  if (!forgetful.empty()) {
    guarantees_.notes += " These nodes keep nothing on disk (appendonly no): " + forgetful +
                         "; if a majority of all restarts, locks are lost, and a person has to "
                         "begin anew.";
  }
}

std::optional<Failure> RedlockElectorate::refuses(const Claim& claim) const {
  const Name& name = claim.name;
  const std::string key = prefix_ + name.bytes();
  if (!redis::looks_like_sibling(key) && !name.bytes().starts_with("holdfast:redlock")) {
    return std::nullopt;
  }
  return Failure(Code::invalid_argument,
                 "the name '" + name.display() + "' is kept for keys of Holdfast's own");
}

Task<Result<bool>> RedlockElectorate::open(Duration ttl, Deadline deadline) {
  if (opening_) {  // Somebody is at it: the news are for all.
    static_cast<void>(co_await opened_.wait(deadline));
    co_return true;
  }
  opening_ = true;
  opened_.reset();
  Result<bool> done = co_await membership_.open(ttl, deadline);
  looked_at_ = runtime_.now();
  opening_ = false;
  opened_.set();
  if (problem_) done = *problem_;
  co_return done;
}

void RedlockElectorate::look_after() {
  constexpr Duration kPause = std::chrono::milliseconds(500);
  if (opening_ || runtime_.now() - looked_at_ < kPause || !membership_.incomplete()) return;
  looked_at_ = runtime_.now();
  background_.spawn(open_in_background());
}

Task<void> RedlockElectorate::open_in_background() {
  static_cast<void>(
      co_await open(Duration(0), Deadline::at(runtime_.now() + options_.request_timeout)));
}

void RedlockElectorate::stop() {
  membership_.stop();
  background_.stop();
}

}  // namespace holdfast::internal::redlock
