#include "engines/redis/node.h"

#include <algorithm>

namespace holdfast::internal::redis {

std::string Invocation::command(bool whole) const {
  const std::size_t taken = std::min(key_count, keys->all.count());
  const std::string_view key_bytes = keys->all.first(taken);
  const Words begin = Words{whole ? std::string_view("EVAL") : std::string_view("EVALSHA"),
                            whole ? script->source : script->digest}
                          .add(taken);
  const std::string count = std::to_string(begin.count() + taken + arguments.count());
  std::string command;
  command.reserve(count.size() + 3 + begin.bytes().size() + key_bytes.size() +
                  arguments.bytes().size());
  command.append("*").append(count).append("\r\n");
  return command.append(begin.bytes()).append(key_bytes).append(arguments.bytes());
}

Node::Node(Runtime& runtime, const ConnectionSettings& settings, const Connection::Locate& where,
           Duration request_timeout, bool channel_per_run)
    : runtime_(runtime),
      request_timeout_(request_timeout),
      connection_(runtime, settings, where),
      // At the same server, or nobody would hear what it publishes.
      subscription_(
          runtime, settings,
          [this](Deadline) -> Task<Result<Endpoint>> { co_return connection_.endpoint(); },
          channel_per_run),
      hurry_(runtime),
      background_(runtime) {
  connection_.on_lost = [this] {
    tracked_by_ = 0;
    loaded_.clear();
  };
  subscription_.on_grant = [this](const PushedGrant& pushed) { hear(pushed); };
  subscription_.on_look = [this](const ClaimId& claim) {
    const auto found = waiters_.find(claim);
    if (found != waiters_.end()) found->second->tell();
  };
  subscription_.on_lost = [this] {
    tracked_by_ = 0;
    wake_all();
  };
  subscription_.on_gone = [this](const std::string& key) {
    for (const auto& [id, waiter] : waiters_) {
      if (waiter->key_ == key) waiter->tell();
    }
  };
}

void Node::drop(const std::string& why) {
  connection_.drop(why);
  subscription_.drop(why);
}

// ---- Asking ------------------------------------------------------------------------------------

Task<Result<Answer>> Node::run(Invocation invocation, bool asking, Deadline deadline,
                               std::stop_token stop) {
  Script& script = *invocation.script;
  if (asking || script.digest.empty()) {
    std::vector<std::string> commands;
    if (script.digest.empty()) commands.push_back(encode({"SCRIPT", "LOAD", script.source}));
    if (asking) commands.push_back(encode({"ASKING"}));
    commands.push_back(invocation.command(true));
    std::vector<Result<Answer>> answers =
        co_await connection_.call_all(std::move(commands), deadline, std::move(stop));
    const Result<Answer>& loaded = answers.front();
    if (loaded && loaded->reply.kind == Reply::Kind::bulk) script.digest = loaded->reply.text;
    co_return std::move(answers.back());
  }
  Result<Answer> answer = co_await connection_.call(invocation.command(false), deadline, stop);
  // The server was restarted, or its scripts were flushed: the whole text brings it back.
  if (answer && answer->reply.is_error("NOSCRIPT")) {
    answer = co_await connection_.call(invocation.command(true), deadline, std::move(stop));
    if (answer) answer->resent = true;
  }
  co_return answer;
}

Task<std::vector<Result<Answer>>> Node::run_all(const std::vector<Invocation>& invocations,
                                                Deadline deadline) {
  std::vector<std::string> commands;
  commands.reserve(invocations.size() + 1);
  std::vector<Script*> loading;  // in the same write, so that the next time a digest is enough
  for (const Invocation& invocation : invocations) {
    if (loaded_.insert(invocation.script).second) {
      loading.push_back(invocation.script);
      commands.push_back(encode({"SCRIPT", "LOAD", invocation.script->source}));
    }
  }
  for (const Invocation& invocation : invocations) {
    commands.push_back(invocation.command(invocation.script->digest.empty()));
  }
  std::vector<Result<Answer>> answers =
      co_await connection_.call_all(std::move(commands), deadline);
  for (std::size_t i = 0; i < loading.size(); ++i) {
    const Result<Answer>& answer = answers[i];
    if (answer && answer->reply.kind == Reply::Kind::bulk) {
      loading[i]->digest = answer->reply.text;
    } else {
      loaded_.erase(loading[i]);
    }
  }
  answers.erase(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(loading.size()));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i] || !answers[i]->reply.is_error("NOSCRIPT")) continue;
    answers[i] = co_await connection_.call(invocations[i].command(true), deadline);
  }
  co_return answers;
}

// ---- Hearing -----------------------------------------------------------------------------------

Task<Result<void>> Node::listen(Deadline deadline, std::stop_token stop, std::string tag) {
  // Not before the command connection: it decides where the server is.
  Result<void> opened = co_await connection_.open(deadline, stop);
  if (!opened) co_return opened;
  if (subscription_.listening() && subscription_.endpoint() != connection_.endpoint()) {
    subscription_.drop("the master has moved");
  }
  if (subscription_.listening(tag)) co_return Result<void>();
  co_return co_await subscription_.listen(deadline, std::move(stop), std::move(tag));
}

Task<bool> Node::watch_key(const std::string& key, Deadline deadline) {
  const std::int64_t listener = subscription_.client_id();
  if (listener == 0) co_return false;
  std::vector<std::string> commands;
  if (tracked_by_ != listener) {
    const std::string redirect = std::to_string(listener);
    commands.push_back(encode({"CLIENT", "TRACKING", "OFF"}));
    commands.push_back(encode({"CLIENT", "TRACKING", "ON", "REDIRECT", redirect, "OPTIN"}));
  }
  commands.push_back(encode({"CLIENT", "CACHING", "YES"}));
  commands.push_back(encode({"GET", key}));
  const std::vector<Result<Answer>> answers =
      co_await connection_.call_all(std::move(commands), deadline);
  for (const Result<Answer>& answer : answers) {
    if (!answer || answer->reply.is_error()) co_return false;
  }
  tracked_by_ = subscription_.client_id() == listener ? listener : 0;
  if (answers.back()->reply.kind == Reply::Kind::nil) {
    for (const auto& [id, waiter] : waiters_) {
      if (waiter->key_ == key) waiter->tell();
    }
  }
  co_return tracked_by_ == listener;
}

bool Node::has_restarted_within(Duration span) const {
  const std::optional<BootTime>& began = subscription_.server_began_again();
  return began && runtime_.now() - *began < span;
}

void Node::hear(const PushedGrant& pushed) {
  const auto found = waiters_.find(pushed.claim);
  // Not there: the answer to a question was faster than the push, or the claim has left, and its
  // release ends what it was granted.
  if (found == waiters_.end()) return;
  found->second->grant = pushed.grant;
  found->second->tell();
}

void Node::wake_all() {
  for (const auto& [id, waiter] : waiters_) waiter->tell();
}

// ---- Waiting -----------------------------------------------------------------------------------

Node::Waiter::Waiter(Node& node, const Claim& claim, std::string key, Event* also)
    : told(node.runtime_),
      node_(node),
      also_(also),
      id_(claim.id),
      key_(std::move(key)),
      patience_(claim.ttl) {
  node_.waiters_.emplace(id_, this);
  if (node_.pinging_) {
    if (patience_ / 5 < node_.pause_) node_.hurry_.set();
  } else {
    node_.pinging_ = true;
    node_.background_.spawn(node_.ping_while_waiting());
  }
}

void Node::Waiter::tell() {
  told.set();
  if (also_) also_->set();
}

Node::Waiter::~Waiter() { node_.waiters_.erase(id_); }

// A pushed grant counts from the last ping: that must not be long ago for a short ttl.
Duration Node::ping_pause() const {
  Duration pause = std::chrono::seconds(1);
  for (const auto& [id, waiter] : waiters_) pause = std::min(pause, waiter->patience_ / 5);
  return std::max<Duration>(pause, std::chrono::milliseconds(2));
}

Task<void> Node::ping_while_waiting() {
  constexpr Duration kAnswerWithin = std::chrono::seconds(3);
  constexpr Duration kOverslept = std::chrono::seconds(2);
  last_ping_ = std::max(last_ping_, runtime_.now() - std::chrono::seconds(1));
  while (!waiters_.empty()) {
    hurry_.reset();
    pause_ = ping_pause();
    const Deadline next = Deadline::at(last_ping_ + pause_);
    const Woken woken = co_await hurry_.wait(next, background_.stop_token());
    if (woken == Woken::cancelled) break;
    if (woken == Woken::signalled) continue;
    const bool overslept = runtime_.now() - last_ping_ > pause_ + kOverslept;
    last_ping_ = runtime_.now();
    if (overslept)
      wake_all();  // This process was stopped: others may have passed over its waiters.
    if (subscription_.listening()) {
      const Deadline limit = request_deadline().sooner(runtime_.now() + kAnswerWithin);
      static_cast<void>(co_await subscription_.ping(limit));  // wakes all if it is dead
    }
  }
  pinging_ = false;
}

}  // namespace holdfast::internal::redis
