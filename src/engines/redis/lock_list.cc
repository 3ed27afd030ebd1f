#include "engines/redis/lock_list.h"

#include <algorithm>

#include "base/unreachable_instead_of_unknown.h"
#include "engines/redis/lock_view.h"

namespace holdfast::internal::redis {

Task<Result<std::vector<std::string>>> scan_names(Node& node, char letter, std::string wanted,
                                                  std::string& cursor, Deadline deadline) {
  const std::string pattern = sibling_pattern(letter);
  std::string command = encode({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"});
  const Result<Answer> answer = co_await node.connection().call(std::move(command), deadline);
  if (!answer) co_return unreachable_instead_of_unknown(answer.failure());
  if (answer->reply.is_error()) co_return node.connection().refused(answer->reply);
  cursor = answer->reply.at(0).text;
  std::vector<std::string> names;
  for (const Reply& key : answer->reply.at(1).items) {
    std::optional<std::string> name = name_of_sibling_key(key.text, letter);
    if (name && name->starts_with(wanted)) names.push_back(std::move(*name));
  }
  co_return names;
}

Task<Result<std::vector<LockInfo>>> list_locks(CommandExecutor& executor, Script& inspect,
                                               std::string prefix, Deadline deadline) {
  const Result<std::vector<Node*>> nodes = co_await executor.servers().all(deadline);
  if (!nodes) co_return nodes.failure();
  const std::size_t ours = executor.settings().prefix.size();
  const std::string wanted = executor.settings().prefix + prefix;
  std::vector<LockInfo> all;
  for (Node* node : *nodes) {
    std::string cursor = "0";
    do {
      const Result<std::vector<std::string>> names =
          co_await scan_names(*node, 't', wanted, cursor, deadline);
      if (!names) co_return names.failure();
      std::vector<Keys> keys;
      for (const std::string& name : *names) {
        if (!Name::problem_with(name.substr(ours))) keys.emplace_back(name);
      }
      std::vector<Invocation> looks;
      looks.reserve(keys.size());
      for (const Keys& key : keys) looks.push_back({&inspect, &key, {}});
      const std::vector<Result<Answer>> seen = co_await node->run_all(looks, deadline);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!seen[i]) co_return unreachable_instead_of_unknown(seen[i].failure());
        if (seen[i]->reply.is_error()) continue;  // moved away meanwhile, or of another type
        LockInfo info = lock_info(Name(keys[i].word().substr(ours)), seen[i]->reply);
        if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
      }
    } while (cursor != "0");
  }
  const auto by_name = [](const LockInfo& a, const LockInfo& b) { return a.name < b.name; };
  const auto same = [](const LockInfo& a, const LockInfo& b) { return a.name == b.name; };
  std::sort(all.begin(), all.end(), by_name);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  co_return all;
}

}  // namespace holdfast::internal::redis
