#include "engines/quorum/quorum_view.h"

#include <algorithm>
#include <map>
#include <set>

#include "engines/kit/failures.h"
#include "engines/quorum/tally.h"

namespace holdfast::internal::quorum {

namespace {

Failure too_few(std::size_t answered, std::size_t nodes, const std::string& why) {
  return Failure(Code::unreachable, "only " + std::to_string(answered) + " of " +
                                        std::to_string(nodes) + " nodes answered" +
                                        (why.empty() ? "" : " (" + why + ")"));
}

// Answers of nodes to the same question, kept by those who ask: some answer when nobody waits.
template <class T>
struct Answers {
  Answers(Runtime& runtime, std::size_t nodes) : pending(nodes), changed(runtime) {}
  void add_why(const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; }
  std::vector<T> given;
  std::size_t pending;
  std::string why;
  Code code = Code::unreachable;
  Event changed;
};

template <class T, class Ask>
Task<void> ask_one(Voter& voter, Deadline deadline, Ask ask, Answers<T>& answers) {
  const Result<void> ready = co_await voter.ready(deadline);
  std::string why;
  if (!ready) {
    why = ready.message();
    if (ready.code() == Code::misconfigured) answers.code = Code::misconfigured;
  } else {
    Result<T> answer = co_await ask(voter);
    if (answer) {
      answers.given.push_back(std::move(answer).value());
    } else {
      why = answer.message();
    }
  }
  if (!why.empty()) answers.add_why(why);
  --answers.pending;
  answers.changed.set();
}

// Asks all nodes, and returns what they say when all have answered, or soon after a majority has.
template <class T, class Ask>
Task<Result<std::vector<T>>> ask_all(Runtime& runtime, Electorate& electorate, Deadline deadline,
                                     Ask ask) {
  constexpr Duration kStragglers = std::chrono::milliseconds(20);
  const std::size_t nodes = electorate.size();
  const std::vector<std::size_t> asked = nodes_to_ask(electorate);
  Answers<T> answers(runtime, asked.size());
  for (std::size_t node = 0; node < nodes; ++node) {
    if (std::find(asked.begin(), asked.end(), node) != asked.end()) continue;
    answers.add_why(electorate.voter(node).display() + " does not answer");
  }
  TaskGroup group(runtime);
  for (const std::size_t node : asked) {
    group.spawn(ask_one(electorate.voter(node), deadline, ask, answers));
  }
  Deadline limit = deadline;
  while (answers.pending > 0) {
    if (answers.given.size() >= majority_of(nodes)) {
      limit = limit.sooner(runtime.now() + kStragglers);
    }
    answers.changed.reset();
    if (co_await answers.changed.wait(limit) == Woken::timed_out) break;
  }
  if (const std::optional<Failure> problem = electorate.problem()) co_return *problem;
  if (answers.given.size() < majority_of(nodes)) {
    co_return Failure(answers.code, too_few(answers.given.size(), nodes, answers.why).message());
  }
  co_return std::move(answers.given);
}

}  // namespace

LockInfo merge(const Name& name, const std::vector<LockInfo>& seen, std::size_t majority) {
  LockInfo merged{.name = name};
  std::map<ClaimId, std::vector<const HolderInfo*>> holders;
  struct Waiting {
    const WaiterInfo* longest = nullptr;
    std::size_t nodes = 0;
  };
  std::map<ClaimId, Waiting> waiters;
  for (const LockInfo& info : seen) {
    for (const HolderInfo& holder : info.holders) holders[holder.id].push_back(&holder);
    for (const WaiterInfo& waiter : info.waiters) {
      Waiting& known = waiters[waiter.id];
      ++known.nodes;
      if (!known.longest || known.longest->waited_for < waiter.waited_for) known.longest = &waiter;
    }
  }
  for (const auto& [id, at] : holders) {
    if (at.size() < majority) continue;
    HolderInfo holder = *at.front();
    std::vector<Duration> ends;
    for (const HolderInfo* each : at) {
      holder.token = std::max(holder.token, each->token);
      holder.held_for = std::max(holder.held_for, each->held_for);
      if (each->expires_in) ends.push_back(*each->expires_in);
    }
    // It holds as long as a majority has it.
    std::sort(ends.rbegin(), ends.rend());
    if (ends.size() >= majority) holder.expires_in = ends[majority - 1];
    merged.last_token = std::max(merged.last_token, holder.token);
    merged.holders.push_back(std::move(holder));
    waiters.erase(id);
  }
  std::sort(merged.holders.begin(), merged.holders.end(),
            [](const HolderInfo& a, const HolderInfo& b) { return a.token < b.token; });
  // The highest that a majority can have accepted: a lone node may have accepted one that was never
  // granted.
  std::vector<Token> fences;
  for (const LockInfo& info : seen) fences.push_back(info.last_token);
  std::sort(fences.rbegin(), fences.rend());
  if (fences.size() >= majority) {
    merged.last_token = std::max(merged.last_token, fences[majority - 1]);
  }
  for (const auto& [id, waiting] : waiters) {
    if (waiting.nodes >= majority) merged.waiters.push_back(*waiting.longest);
  }
  std::sort(merged.waiters.begin(), merged.waiters.end(),
            [](const WaiterInfo& a, const WaiterInfo& b) { return a.waited_for > b.waited_for; });
  return merged;
}

Task<Result<LockInfo>> inspect_lock(Runtime& runtime, Electorate& electorate, Name name,
                                    Deadline deadline) {
  const auto ask = [&](Voter& voter) { return voter.inspect(name, deadline); };
  const Result<std::vector<LockInfo>> seen =
      co_await ask_all<LockInfo>(runtime, electorate, deadline, ask);
  if (!seen) co_return seen.failure();
  co_return merge(name, *seen, majority_of(electorate.size()));
}

Task<Result<std::vector<LockInfo>>> list_locks(Runtime& runtime, Electorate& electorate,
                                               std::string prefix, Deadline deadline) {
  const auto ask = [&](Voter& voter) { return voter.names(prefix, deadline); };
  const Result<std::vector<std::vector<Name>>> told =
      co_await ask_all<std::vector<Name>>(runtime, electorate, deadline, ask);
  if (!told) co_return told.failure();
  std::set<Name> names;
  for (const std::vector<Name>& some : *told) names.insert(some.begin(), some.end());
  std::vector<LockInfo> locks;
  for (const Name& name : names) {
    Result<LockInfo> info = co_await inspect_lock(runtime, electorate, name, deadline);
    if (!info) co_return info.failure();
    if (!info->holders.empty() || !info->waiters.empty()) locks.push_back(std::move(*info));
  }
  co_return locks;
}

Task<Result<void>> evict_lock(Runtime& runtime, Electorate& electorate, Name name, Token token,
                              Deadline deadline) {
  const auto ask = [&](Voter& voter) { return voter.evict(name, token, deadline); };
  const Result<std::vector<bool>> done = co_await ask_all<bool>(runtime, electorate, deadline, ask);
  if (!done) co_return done.failure();
  // A holder needs a majority; so it is broken when too few are left to it, and it was one if a
  // majority had this token or what is left could not be a majority.
  if (std::count(done->begin(), done->end(), true) > 0) co_return Result<void>();
  co_return not_held_with(name, token);
}

}  // namespace holdfast::internal::quorum
