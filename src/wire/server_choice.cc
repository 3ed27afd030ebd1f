#include "wire/server_choice.h"

#include <algorithm>
#include <vector>

namespace holdfast::internal {

namespace {

std::string reason_of(const ServerAnswer& answer, std::int64_t latest) {
  if (answer.failure) return answer.failure->message();
  if (!answer.state) return "no answer in time";
  if (!answer.state->writable) return "it can only be read";
  if (answer.state->timeline < latest) {
    return "it is an old primary (timeline " + std::to_string(answer.state->timeline) +
           "): another server was promoted since, to timeline " + std::to_string(latest);
  }
  return "it replicates another server, and a server that did not answer may be the primary";
}

Failure none_of(std::span<const ServerAnswer> answers, std::int64_t latest) {
  std::string why = "none of its servers can be written";
  bool for_people = true;
  for (const ServerAnswer& answer : answers) {
    why +=
        (&answer == answers.data() ? ": " : "; ") + answer.where + ": " + reason_of(answer, latest);
    for_people = for_people && answer.failure && answer.failure->code() == Code::misconfigured;
  }
  return Failure(for_people ? Code::misconfigured : Code::unreachable, why);
}

std::optional<Failure> foreign_server(std::span<const ServerAnswer> answers) {
  const ServerAnswer* first = nullptr;
  for (const ServerAnswer& answer : answers) {
    if (!answer.state || answer.state->cluster.empty()) continue;
    if (!first) first = &answer;
    if (answer.state->cluster == first->state->cluster) continue;
    return Failure(Code::misconfigured,
                   first->where + " and " + answer.where +
                       " do not replicate one another (their system identifiers differ): name "
                       "the servers of one cluster");
  }
  return std::nullopt;
}

}  // namespace

std::int64_t latest_timeline(std::span<const ServerAnswer> answers) {
  std::int64_t latest = 0;
  for (const ServerAnswer& answer : answers) {
    if (answer.state) latest = std::max(latest, answer.state->timeline);
  }
  return latest;
}

Result<std::size_t> choose_server(std::span<const ServerAnswer> answers,
                                  std::optional<std::size_t> in_use, std::int64_t seen) {
  if (std::optional<Failure> foreign = foreign_server(answers)) return *std::move(foreign);
  const std::int64_t latest = std::max(seen, latest_timeline(answers));
  std::vector<std::size_t> writable;
  bool all_answered = true;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    all_answered = all_answered && answers[i].state;
    if (!answers[i].state || !answers[i].state->writable) continue;
    // One server may have two addresses in the list.
    const bool known = std::any_of(writable.begin(), writable.end(), [&](std::size_t other) {
      return answers[other].state->id == answers[i].state->id && in_use != i;
    });
    if (!known) writable.push_back(i);
  }
  const auto replicates = [&](std::size_t i) { return answers[i].state->replicates; };
  // In a ring both replicate: then the only one that can be written is the primary.
  if (writable.size() > 1 || !all_answered) std::erase_if(writable, replicates);
  std::erase_if(writable, [&](std::size_t i) { return answers[i].state->timeline < latest; });
  if (writable.empty()) return none_of(answers, latest);
  if (in_use && std::find(writable.begin(), writable.end(), *in_use) != writable.end()) {
    return *in_use;
  }
  const std::string& id = answers[writable.front()].state->id;
  const bool one = std::all_of(writable.begin(), writable.end(),
                               [&](std::size_t i) { return answers[i].state->id == id; });
  if (one) return writable.front();
  std::string names;
  for (const std::size_t i : writable) names += (names.empty() ? "" : " and ") + answers[i].where;
  return Failure(Code::unreachable,
                 "both " + names +
                     " can be written, and nothing tells which is the primary; make the other one "
                     "read-only (read_only=1), or stop it");
}

}  // namespace holdfast::internal
