#include "engines/zookeeper/lock_view.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::zookeeper {

namespace {

// As ZooKeeper's own tools write it.
std::string session_text(std::int64_t id) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(id));
  return text.data();
}

}  // namespace

Task<Result<std::vector<SeenNode>>> LockView::look(Session& session, std::string lock_path,
                                                   Deadline deadline) {
  Result<std::vector<std::string>> children =
      co_await nodes_.children_of(session, lock_path, true, deadline);
  if (!children) co_return children.failure();
  co_return co_await read(session, std::move(lock_path), *std::move(children), deadline);
}

Task<Result<std::vector<SeenNode>>> LockView::read(Session& session, std::string lock_path,
                                                   std::vector<std::string> children,
                                                   Deadline deadline) {
  // Enough to hide the way to the server, and little enough for its buffers and ours.
  constexpr std::size_t kPart = 200;
  std::vector<ClaimNode> nodes = in_order(children);
  std::vector<SeenNode> seen;
  for (std::size_t begin = 0; begin < nodes.size(); begin += kPart) {
    const std::size_t end = std::min(begin + kPart, nodes.size());
    Requests requests;
    for (std::size_t i = begin; i < end; ++i) {
      requests.get_data(lock_path + '/' + nodes[i].name, false);
    }
    Result<Answers> answers = co_await session.ask(std::move(requests), deadline);
    if (!answers) co_return unreachable_instead_of_unknown(answers.failure());
    for (std::size_t i = begin; i < end; ++i) {
      const Reply& reply = answers->replies[i - begin];
      if (reply.error == Error::no_node) continue;  // It has left meanwhile.
      if (!reply.ok()) co_return nodes_.failure_of(session, reply.error, "reading", lock_path);
      SeenNode one{.node = std::move(nodes[i]), .stat = *reply.stat, .data = {}, .label = {}};
      one.data = NodeData::parse(reply.data);
      one.label = one.data ? one.data->label : foreign_label(reply.data);
      seen.push_back(std::move(one));
    }
  }
  co_return seen;
}

std::vector<ClaimNode> LockView::names_of(const std::vector<SeenNode>& seen) {
  std::vector<ClaimNode> nodes;
  nodes.reserve(seen.size());
  for (const SeenNode& one : seen) nodes.push_back(one.node);
  return nodes;
}

LockInfo LockView::describe_lock(const Name& name, const std::vector<SeenNode>& seen) const {
  LockInfo info{.name = name};
  const std::vector<ClaimNode> nodes = names_of(seen);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const SeenNode& one = seen[i];
    const ClaimId id = one.node.claim.value_or(ClaimId());
    if (one.node.mode == Mode::permit) info.permits = one.node.permits;
    const WallTime asked{std::chrono::milliseconds(one.stat.ctime_ms)};
    const Duration since_asked = std::max<Duration>(runtime_.wall() - asked, Duration(0));
    if (holds(nodes, i)) {
      // How long it waited nobody knows: its node tells when it asked.
      HolderInfo holder{.id = id,
                        .mode = one.node.mode,
                        .token = one.token(),
                        .label = one.label,
                        .held_for = since_asked};
      // It can last half as long again as its ttl: see SessionProof.
      if (one.data) holder.expires_in = one.data->ttl;
      holder.details = {{"session", session_text(one.stat.owner)}};
      info.last_token = std::max(info.last_token, holder.token);
      info.holders.push_back(std::move(holder));
    } else {
      info.waiters.push_back(
          {.id = id, .mode = one.node.mode, .label = one.label, .waited_for = since_asked});
    }
  }
  return info;
}

Task<Result<LockInfo>> LockView::inspect(Session& session, const Name& name, Deadline deadline) {
  std::string path = nodes_.lock_path(name);
  const Result<std::vector<SeenNode>> seen = co_await look(session, std::move(path), deadline);
  if (!seen) co_return seen.failure();
  co_return describe_lock(name, *seen);
}

Task<Result<std::vector<LockInfo>>> LockView::list(Session& session, const std::string& prefix,
                                                   Deadline deadline) {
  constexpr std::size_t kPart = 200;
  std::string root = nodes_.root();
  const Result<std::vector<std::string>> parts =
      co_await nodes_.children_of(session, std::move(root), true, deadline);
  if (!parts) co_return parts.failure();
  std::vector<Name> names;
  for (const std::string& part : *parts) {
    const std::optional<Name> name = unescaped_name(part);
    if (name && name->bytes().starts_with(prefix)) names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  std::vector<LockInfo> all;
  for (std::size_t begin = 0; begin < names.size(); begin += kPart) {
    const std::size_t end = std::min(begin + kPart, names.size());
    Requests requests;
    for (std::size_t i = begin; i < end; ++i) {
      requests.get_children(nodes_.lock_path(names[i]), false);
    }
    Result<Answers> answers = co_await session.ask(std::move(requests), deadline);
    if (!answers) co_return unreachable_instead_of_unknown(answers.failure());
    for (std::size_t i = begin; i < end; ++i) {
      // Gone meanwhile, or not ours to read: then it is no lock of ours.
      std::vector<std::string>& children = answers->replies[i - begin].children;
      if (children.empty()) continue;
      std::string path = nodes_.lock_path(names[i]);
      const Result<std::vector<SeenNode>> seen =
          co_await read(session, std::move(path), std::move(children), deadline);
      if (!seen) co_return seen.failure();
      LockInfo info = describe_lock(names[i], *seen);
      if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
    }
  }
  co_return all;
}

}  // namespace holdfast::internal::zookeeper
