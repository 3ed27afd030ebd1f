// RedisVoter: its part in the electorate, that is its marker and its fences.
#include <algorithm>
#include <charconv>
#include <set>

#include "base/unreachable_instead_of_unknown.h"
#include "engines/redis/command_executor.h"
#include "engines/redis/facts.h"
#include "engines/redis/lock_view.h"
#include "engines/redlock/redis_voter.h"

namespace holdfast::internal::redlock {

Task<Result<Examination>> RedisVoter::examine(Deadline deadline) {
  std::vector<std::string> commands;
  for (const redis::Words& words : redis::greeting()) commands.push_back(redis::encode(words));
  std::vector<Result<redis::Answer>> answers =
      co_await node_->connection().call_all(std::move(commands), deadline);
  std::vector<redis::Reply> replies;
  for (Result<redis::Answer>& answer : answers) {
    if (!answer) co_return unreachable_instead_of_unknown(answer.failure());
    replies.push_back(std::move(answer->reply));
  }
  redis::Facts facts = redis::facts_from(replies, redis::Layout::single, endpoint_.display());
  facts.in_quorum = true;
  co_return redis::examined(facts);
}

using redis::Answer;
using redis::Keys;
using redis::Reply;
using redis::Words;

Marker::State RedisVoter::state() const {
  using State = Marker::State;
  const bool nameless = marker_.state == State::unseen || marker_.state == State::blank;
  if (nameless || marker_.run == identity_.run_id) return marker_.state;
  return marker_.state == State::founding ? State::blank : State::restarted;
}

Duration RedisVoter::silent_for() const {
  return std::max<Duration>(silent_for_ - (runtime_.now() - seen_at_), Duration(0));
}

std::string RedisVoter::absence() const {
  const std::string what = remembers() ? "has restarted" : "has lost its data";
  if (state() != Marker::State::joining) return what + " and does not vote yet";
  const Duration left = silent_for();
  if (left == Duration(0)) return what + " and is about to vote again";
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
  return what + " and does not vote yet: it votes again in " + std::to_string(seconds) + " s";
}

bool RedisVoter::take_marker(const std::string& text) {
  std::optional<Marker> marker = Marker::parse(text);
  if (!marker) return false;
  if (marker->text != marker_.text) {
    // The rest of its silence is told by tend() alone; until then none of it is over.
    silent_for_ = redis::ttl_of_ms(marker->longest_ms);
    seen_at_ = runtime_.now();
  }
  marker_ = std::move(*marker);
  return true;
}

Failure RedisVoter::no_marker() const {
  return Failure(Code::misconfigured, display() + ": the key " + marker_key_ +
                                          " holds something else; delete it, or use a prefix");
}

Task<Result<void>> RedisVoter::tend(redis::Script& script, Words arguments, Deadline deadline) {
  const Keys keys = Keys::of({marker_key_});
  arguments.add(identity_.run_id);
  const Result<Answer> answer = co_await ask(script, keys, std::move(arguments), deadline);
  if (!answer) co_return answer.failure();
  if (!take_marker(answer->reply.at(0).text)) co_return no_marker();
  const std::int64_t now_ms = answer->reply.at(1).as_number();
  clock_us_ = static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms, 0)) * 1000;
  seen_at_ = runtime_.now();
  const std::int64_t left_ms = marker_.until_ms - now_ms;
  silent_for_ = std::max<Duration>(redis::ttl_of_ms(left_ms), Duration(0));
  co_return Result<void>();
}

Task<Result<RedisVoter::Fences>> RedisVoter::fences(Deadline deadline) {
  std::set<std::string> seen;  // SCAN can show a key twice
  Fences all;
  std::string cursor = "0";
  const std::string pattern = redis::sibling_pattern('r');
  do {
    std::string command = redis::encode({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"});
    const Result<Answer> page = co_await node_->connection().call(std::move(command), deadline);
    if (!page) co_return Failure(Code::unreachable, page.message());
    if (page->reply.is_error()) co_return node_->connection().refused(page->reply);
    cursor = page->reply.at(0).text;
    std::vector<std::string> keys;
    std::vector<std::string> commands;
    for (const Reply& key : page->reply.at(1).items) {
      const std::optional<std::string> name = redis::name_of_sibling_key(key.text, 'r');
      if (!name || !name->starts_with(prefix_) || !seen.insert(key.text).second) continue;
      keys.push_back(key.text);
      commands.push_back(redis::encode({"GET", key.text}));
    }
    if (keys.empty()) continue;
    const std::vector<Result<Answer>> values =
        co_await node_->connection().call_all(std::move(commands), deadline);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!values[i]) co_return Failure(Code::unreachable, values[i].message());
      const std::string& fence = values[i]->reply.text;
      std::uint64_t token = 0;
      const auto parsed = std::from_chars(fence.data(), fence.data() + fence.size(), token);
      if (parsed.ec == std::errc()) all.emplace_back(keys[i], token);
    }
  } while (cursor != "0");
  co_return all;
}

Task<Result<bool>> RedisVoter::claim_finish(Deadline deadline) {
  const std::string key = marker_key_ + ":finisher";
  std::string command = redis::encode({"SET", key, "1", "NX", "PX", "5000"});
  const Result<Answer> answer = co_await node_->connection().call(std::move(command), deadline);
  if (!answer) co_return Failure(Code::unreachable, answer.message());
  if (answer->reply.is_error()) co_return node_->connection().refused(answer->reply);
  co_return answer->reply.kind == Reply::Kind::status;
}

Task<Result<void>> RedisVoter::adopt(const Marker& marker, Fences fences, Deadline deadline) {
  constexpr std::size_t kPart = 200;
  for (std::size_t begin = 0; begin < fences.size(); begin += kPart) {
    Words names{marker_key_};
    Words arguments{marker.text};
    for (std::size_t i = begin; i < std::min(begin + kPart, fences.size()); ++i) {
      names.add(fences[i].first);
      arguments.add(fences[i].second);
    }
    const Keys keys = Keys::of(std::move(names));
    const Result<Answer> answer =
        co_await ask(scripts_.adopt, keys, std::move(arguments), deadline);
    if (!answer) co_return answer.failure();
    if (answer->reply.as_number() != 1) {
      co_return Failure(Code::unreachable, display() + ": it has lost its data again");
    }
  }
  co_return Result<void>();
}

}  // namespace holdfast::internal::redlock
