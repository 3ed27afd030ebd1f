#include "engines/redis/records.h"

#include <algorithm>

#include "base/unreachable_instead_of_unknown.h"
#include "engines/redis/lock_list.h"

namespace holdfast::internal::redis {

namespace {

constexpr char kRecordLetter = 'd';

void add_optional(Words& arguments, const std::optional<std::string>& value) {
  arguments.add(value ? "1" : "0").add(value ? std::string_view(*value) : std::string_view());
}

Failure not_a_record(Node& node) {
  return Failure(Code::unknown,
                 "Redis at " + node.endpoint().display() + ": an answer that makes no sense");
}

}  // namespace

Keys Records::keys_of(const std::string& prefixed_name) const {
  return Keys::of({sibling_key(prefixed_name, kRecordLetter)});
}

Task<Result<std::optional<std::string>>> Records::read(Name name, Deadline deadline) {
  const Keys keys = keys_of(executor_.settings().prefix + name.bytes());
  const auto reading = [&](Node&) { return Invocation{&read_, &keys, {}}; };
  const Result<CommandExecutor::Performed> performed =
      co_await executor_.perform(keys, std::cref(reading), false, deadline);
  if (!performed) co_return unreachable_instead_of_unknown(performed.failure());
  const Reply& reply = performed->answer.reply;
  if (reply.kind == Reply::Kind::nil) co_return std::optional<std::string>();
  if (reply.kind != Reply::Kind::bulk) {
    co_return unreachable_instead_of_unknown(not_a_record(*performed->node));
  }
  co_return std::optional<std::string>(reply.text);
}

Task<Result<bool>> Records::swap(Name name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) {
  const Keys keys = keys_of(executor_.settings().prefix + name.bytes());
  const bool confirm = executor_.settings().wait_replicas > 0;
  const auto swapping = [&](Node&) {
    Words arguments;
    add_optional(arguments, expected);
    add_optional(arguments, value);
    arguments.add(confirm ? "1" : "0");
    return Invocation{&swap_, &keys, std::move(arguments)};
  };
  const Result<CommandExecutor::Performed> performed =
      co_await executor_.perform(keys, std::cref(swapping), false, deadline);
  if (!performed) co_return performed.failure();
  const Reply& reply = performed->answer.reply;
  if (reply.is_number(0)) co_return false;
  if (!reply.is_number(1)) co_return not_a_record(*performed->node);
  executor_.note_write();
  const Result<void> confirmed =
      co_await executor_.replicated(*performed->node, performed->answer.generation, deadline);
  // It is stored, and a failover may forget it.
  if (!confirmed) co_return Failure(Code::unknown, confirmed.message());
  co_return true;
}

Task<Result<void>> Records::read_all(Node& node, std::vector<std::string> prefixed_names,
                                     std::vector<Record>& all, Deadline deadline) {
  const std::size_t ours = executor_.settings().prefix.size();
  std::erase_if(prefixed_names, [&](const std::string& name) {
    return Name::problem_with(name.substr(ours)).has_value();
  });
  std::vector<Keys> keys;
  for (const std::string& name : prefixed_names) keys.push_back(keys_of(name));
  std::vector<Invocation> looks;
  looks.reserve(keys.size());
  for (const Keys& key : keys) looks.push_back({&read_, &key, {}});
  const std::vector<Result<Answer>> seen = co_await node.run_all(looks, deadline);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!seen[i]) co_return unreachable_instead_of_unknown(seen[i].failure());
    if (seen[i]->reply.kind != Reply::Kind::bulk) continue;
    all.push_back({Name(prefixed_names[i].substr(ours)), seen[i]->reply.text});
  }
  co_return Result<void>();
}

Task<Result<std::vector<Record>>> Records::list(std::string prefix, Deadline deadline) {
  const Result<std::vector<Node*>> nodes = co_await executor_.servers().all(deadline);
  if (!nodes) co_return unreachable_instead_of_unknown(nodes.failure());
  const std::string wanted = executor_.settings().prefix + prefix;
  std::vector<Record> all;
  for (Node* node : *nodes) {
    std::string cursor = "0";
    do {
      Result<std::vector<std::string>> names =
          co_await scan_names(*node, kRecordLetter, wanted, cursor, deadline);
      if (!names) co_return names.failure();
      const Result<void> read = co_await read_all(*node, std::move(*names), all, deadline);
      if (!read) co_return read.failure();
    } while (cursor != "0");
  }
  const auto by_name = [](const Record& a, const Record& b) { return a.name < b.name; };
  const auto same = [](const Record& a, const Record& b) { return a.name == b.name; };
  std::sort(all.begin(), all.end(), by_name);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());  // SCAN can show a key twice
  co_return all;
}

Task<Result<std::optional<WallTime>>> Records::server_time(Deadline deadline) {
  const Keys keys = keys_of(executor_.settings().prefix + "clock");
  const auto asking = [&](Node&) { return Invocation{&time_, &keys, {}}; };
  const Result<CommandExecutor::Performed> performed =
      co_await executor_.perform(keys, std::cref(asking), false, deadline);
  if (!performed) co_return unreachable_instead_of_unknown(performed.failure());
  const Reply& reply = performed->answer.reply;
  constexpr std::int64_t kSanest = 4'102'444'800;  // the year 2100
  const std::int64_t seconds = std::clamp<std::int64_t>(reply.at(0).as_number(), 0, kSanest);
  const std::int64_t rest_us = std::clamp<std::int64_t>(reply.at(1).as_number(), 0, 999'999);
  if (seconds == 0) co_return std::optional<WallTime>();
  co_return std::optional(
      WallTime(std::chrono::seconds(seconds) + std::chrono::microseconds(rest_us)));
}

}  // namespace holdfast::internal::redis
