#include "engines/zookeeper/lock_nodes.h"

#include "base/text.h"
#include "base/unreachable_instead_of_unknown.h"

namespace holdfast::internal::zookeeper {

Failure LockNodes::failure_of(const Session& session, Error error, const std::string& doing,
                              const std::string& path) const {
  Failure why = described(error, doing, path);
  session.report_refusal(why);
  return why;
}

Failure LockNodes::described(Error error, const std::string& doing, const std::string& path) const {
  constexpr std::size_t kMaxShown = 200;
  const std::string where = "'" + printable(path, kMaxShown) + "'";
  const std::string what = "ZooKeeper: " + doing + " " + where + ": " + describe(error);
  switch (error) {
    case Error::no_auth:
    case Error::invalid_acl:
    case Error::auth_failed:
      return Failure(Code::misconfigured,
                     what + "; " +
                         (settings_.login.empty()
                              ? "log in (zookeeper://USER:PASSWORD@…), or give everybody the rights"
                              : "is the password right, and has this user the rights") +
                         " to read, write, create and delete there");
    case Error::quota_exceeded:
      return Failure(Code::misconfigured, what + "; raise the quota of that part of the tree");
    case Error::no_children_for_ephemerals:
      return Failure(Code::misconfigured,
                     what + "; some program keeps an ephemeral node where the lock should be");
    case Error::bad_arguments: return Failure(Code::invalid_argument, what);
    case Error::unimplemented:
      return Failure(Code::unsupported, what + "; Holdfast needs ZooKeeper 3.5.3 or later");
    default: return Failure(Code::unreachable, what);
  }
}

// ---- Entering ----------------------------------------------------------------------------------

Task<Result<LockNodes::Entered>> LockNodes::enter(Session& session, const Claim& claim,
                                                  std::string data, Reading reading,
                                                  Deadline deadline, std::stop_token stop) {
  constexpr int kRounds = 5;
  constexpr std::size_t kMaxKnown = 10'000;
  const std::string path = lock_path(claim.name);
  const std::string prefix = path + '/' + claim_node_prefix(claim, claim.outlives_process);
  Error error = Error::none;
  for (int round = 0; round < kRounds; ++round) {
    Requests requests;
    const bool make_lock = !known_.contains(path);
    if (make_lock) {
      requests.create(containers_ ? Op::create_container : Op::create, path, {}, settings_.access,
                      containers_ ? CreateMode::container : CreateMode::persistent);
    }
    requests.create(Op::create2, prefix, data, settings_.access, CreateMode::ephemeral_sequential);
    const bool list = reading == Reading::queue;
    if (list) requests.get_children(path, false);
    Result<Answers> answers = co_await session.call(std::move(requests), deadline, stop);
    if (!answers) co_return answers.failure();
    std::vector<Reply>& replies = answers->replies;
    const Reply& created = replies[replies.size() - (list ? 2 : 1)];
    if (created.ok()) {
      if (known_.size() >= kMaxKnown) known_.clear();
      if (make_lock) known_.insert(path);
      Entered entered{.node = created.path.substr(path.size() + 1),
                      .token = Token(static_cast<std::uint64_t>(created.stat->czxid)),
                      .children = {},
                      .incarnation = answers->incarnation};
      Reply& listed = replies.back();
      if (list && !listed.ok()) co_return Failure(Code::unknown, describe(listed.error));
      if (list) entered.children = std::move(listed.children);
      co_return entered;
    }
    error = created.error;
    if (error != Error::no_node) break;
    known_.erase(path);
    if (!make_lock) continue;
    const Error parent = replies.front().error;
    if (parent == Error::unimplemented || parent == Error::bad_arguments) {
      if (!containers_) break;
      containers_ = false;
    } else if (parent == Error::no_node) {
      const Result<void> made = co_await make_chroot(session, deadline, stop);
      if (!made) co_return made.failure();
    } else if (parent != Error::none && parent != Error::node_exists) {
      error = parent;
      break;
    }
  }
  co_return failure_of(session, error, "creating a node under", path);
}

Task<Result<void>> LockNodes::make_chroot(Session& session, Deadline deadline,
                                          std::stop_token stop) {
  const std::string& chroot = settings_.chroot;
  if (chroot.empty()) co_return failure_of(session, Error::no_node, "looking for", "/");
  Requests requests;
  for (std::size_t end = chroot.find('/', 1);; end = chroot.find('/', end + 1)) {
    requests.create(Op::create, chroot.substr(0, end), {}, settings_.access,
                    CreateMode::persistent);
    if (end == std::string::npos) break;
  }
  const Result<Answers> answers = co_await session.call(std::move(requests), deadline, stop);
  if (!answers && answers.code() == Code::unknown) {
    co_return Failure(Code::unreachable, answers.message());  // No claim of ours is in it yet.
  }
  if (!answers) co_return answers.failure();
  const Error last = answers->replies.back().error;
  if (last == Error::none || last == Error::node_exists) co_return Result<void>();
  co_return failure_of(session, last, "creating the chroot", chroot);
}

// ---- Alone -------------------------------------------------------------------------------------

bool LockNodes::likely_alone(const std::string& lock_path) {
  const auto habit = habits_.find(lock_path);
  return habit != habits_.end() && habit->second.guesses.should_spin();
}

bool LockNodes::is_alone(const std::string& lock_path, const std::string& node, Token token) {
  const std::optional<ClaimNode> parsed = parse_claim_node(node);
  const auto habit = habits_.find(lock_path);
  if (!parsed || habit == habits_.end()) return false;
  const bool alone = follows_directly(habit->second.former, parsed->sequence, token.value());
  alone ? habit->second.guesses.hit() : habit->second.guesses.missed();
  return alone;
}

void LockNodes::left(const std::string& lock_path, const std::string& node, Token token,
                     bool contended) {
  constexpr std::size_t kMaxHabits = 10'000;
  const std::optional<ClaimNode> parsed = parse_claim_node(node);
  if (contended || !parsed || parsed->kept) {
    habits_.erase(lock_path);
    return;
  }
  if (habits_.size() >= kMaxHabits && !habits_.contains(lock_path)) habits_.clear();
  habits_[lock_path].former = Former{parsed->sequence, token.value()};
}

// ---- Reading and removing ----------------------------------------------------------------------

Task<Result<std::vector<std::string>>> LockNodes::children_of(Session& session, std::string path,
                                                              bool fresh, Deadline deadline,
                                                              std::stop_token stop) {
  Requests requests;
  if (fresh) {
    // A write that changes nothing: what was decided before it is known to the server that answers
    // it. (A `sync` does not do that on the leader itself, which may be behind its followers.)
    Requests::Transaction barrier(requests);
    barrier.check(path, -1);
  }
  requests.get_children(path, false);
  Result<Answers> answers = co_await session.ask(std::move(requests), deadline, std::move(stop));
  if (!answers) co_return unreachable_instead_of_unknown(answers.failure());
  Reply& listed = answers->replies.back();
  if (listed.ok()) co_return std::move(listed.children);
  if (listed.error == Error::no_node) co_return std::vector<std::string>();
  co_return failure_of(session, listed.error, "reading", path);
}

Task<void> LockNodes::make_anew_if_used_up(Session& session, const std::string& node_path,
                                           Deadline deadline) {
  const std::size_t slash = node_path.rfind('/');
  const std::optional<ClaimNode> node = parse_claim_node(node_path.substr(slash + 1));
  if (!node || !runs_out(node->sequence)) co_return;
  const std::string lock_path = node_path.substr(0, slash);
  Requests requests;
  requests.remove(lock_path);  // It stays if anybody is in the queue.
  const Result<Answers> answers = co_await session.call(std::move(requests), deadline);
  if (answers && answers->replies.front().ok()) known_.erase(lock_path);
}

Task<Result<LockNodes::Removal>> LockNodes::remove(Session& session, std::string node_path,
                                                   bool held, Deadline deadline) {
  Removal removal;
  for (;;) {
    Requests requests;
    if (held) {
      Requests::Transaction transaction(requests);
      transaction.set_data(node_path, {}, 0);
      transaction.remove(node_path, -1);
    } else {
      requests.remove(node_path);
    }
    const Result<Answers> answers = co_await session.ask(std::move(requests), deadline);
    if (!answers) co_return answers.failure();
    removal.repeated = removal.repeated || answers->repeated;
    const Error error = answers->replies.front().error;
    if (error == Error::none) {
      removal.removed = true;
      co_await make_anew_if_used_up(session, node_path, deadline);
      co_return removal;
    }
    if (error == Error::no_node) co_return removal;
    if (held && error == Error::bad_version) {  // Somebody wrote into it: it just ends.
      held = false;
      continue;
    }
    co_return failure_of(session, error, "deleting", node_path);
  }
}

}  // namespace holdfast::internal::zookeeper
