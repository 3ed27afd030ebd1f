#include "engines/redis/examiner.h"

#include "base/text.h"

namespace holdfast::internal::redis {

Result<void> Examiner::greet(const std::vector<Reply>& answers, const Endpoint& server) {
  Examination found = examined(facts_from(answers, layout_, server.display()));
  warn_of_eviction(found);
  return known_.learn(std::move(found));
}

// A server that may throw the lock away to save memory: that must be said.
void Examiner::warn_of_eviction(const Examination& found) {
  for (const Finding& finding : found.findings) {
    if (warned_ || finding.id != "redis-eviction" || finding.severity == Severity::good) continue;
    warned_ = true;
    if (observer_) observer_->on_warning(printable(found.server + ": " + sentence_of(finding)));
  }
}

Task<Result<Examination>> Examiner::examine_node(Runtime& runtime, Node& node, Deadline deadline) {
  const Result<void> opened = co_await node.connection().open(deadline);
  // The greeting was answered, and says why this server is refused.
  const std::optional<Examination>& last = known_.last();
  if (!opened && last && !fit(*last)) co_return *last;
  if (!opened) co_return opened.failure();
  std::vector<std::string> commands;
  for (const Words& words : greeting()) commands.push_back(encode(words));
  commands.push_back(encode({"TIME"}));
  const WallTime asked = runtime.wall();
  std::vector<Result<Answer>> answers =
      co_await node.connection().call_all(std::move(commands), deadline);
  const WallTime heard = runtime.wall();
  std::vector<Reply> replies;
  for (Result<Answer>& answer : answers) {
    if (!answer) co_return Failure(Code::unreachable, answer.message());
    replies.push_back(std::move(answer->reply));
  }
  const Reply time = std::move(replies.back());
  replies.pop_back();
  static_cast<void>(greet(replies, node.endpoint()));
  Examination found = *known_.last();
  if (time.items.size() == 2) {
    const Duration told = std::chrono::seconds(time.at(0).as_number()) +
                          std::chrono::microseconds(time.at(1).as_number());
    found.clock = clock_difference(told, asked, heard, std::chrono::microseconds(1));
    found.findings.push_back(clock_finding(*found.clock, true));
  }
  co_return found;
}

Task<Result<Examination>> Examiner::examine(Runtime& runtime, Servers& servers, Deadline deadline) {
  Result<std::vector<Node*>> nodes = co_await servers.all(deadline);
  const std::optional<Examination>& last = known_.last();
  if (!nodes && last && !fit(*last)) co_return *last;
  if (!nodes) co_return nodes.failure();
  std::optional<Examination> worst;
  for (Node* node : *nodes) {
    Result<Examination> found = co_await examine_node(runtime, *node, deadline);
    if (!found) co_return found.failure();
    if (!worst || found->verdict() > worst->verdict()) worst = std::move(found).value();
  }
  if (!worst) co_return Failure(Code::unreachable, "no node of the cluster has slots");
  if (nodes->size() > 1) {
    worst->settings.push_back({"nodes", std::to_string(nodes->size())});
  }
  // Guarantees follow the worst, whichever node was asked last.
  static_cast<void>(known_.learn(*worst));
  worst->guarantees = known_.guarantees();
  co_return *worst;
}

}  // namespace holdfast::internal::redis
