#include "engines/zookeeper/zookeeper_engine.h"

#include <algorithm>
#include <map>

#include "base/known_server.h"
#include "engines/kit/failures.h"
#include "engines/zookeeper/acquisition.h"
#include "engines/zookeeper/facts.h"
#include "engines/zookeeper/lock_view.h"
#include "engines/zookeeper/node_watches.h"
#include "engines/zookeeper/records.h"
#include "engines/zookeeper/renewals.h"

namespace holdfast::internal {

namespace {

using zookeeper::Acquisition;
using zookeeper::Answers;
using zookeeper::Claims;
using zookeeper::ClaimState;
using zookeeper::CreateMode;
using zookeeper::Error;
using zookeeper::LockNodes;
using zookeeper::LockView;
using zookeeper::NodeData;
using zookeeper::NodeWatches;
using zookeeper::Renewals;
using zookeeper::Requests;
using zookeeper::SeenNode;
using zookeeper::Session;

class ZooKeeperEngine final : public Engine {
 public:
  ZooKeeperEngine(zookeeper::Settings settings, Runtime& runtime);

  const Guarantees& guarantees() const override { return known_.guarantees(); }
  Task<Result<Examination>> examine(Deadline deadline) override;
  Task<Result<Grant>> acquire(const Claim& claim, const Wait& wait) override;
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline deadline) override;
  Task<Result<bool>> release(const Claim& claim, Deadline deadline) override;
  Task<Result<void>> detach(const Hold& hold, Deadline deadline) override;
  Task<Result<std::vector<LockInfo>>> list(const std::string& prefix, Deadline deadline) override;
  Task<Result<LockInfo>> inspect(const Name& name, Deadline deadline) override;
  Task<Result<void>> evict(const Name& name, Token token, Deadline deadline) override;
  Task<Result<LockInfo>> watch(const Name& name, Token known, const Wait& wait) override;
  Task<Result<std::optional<std::string>>> read_record(const Name& name,
                                                       Deadline deadline) override {
    return records_.read(some_session(), name, deadlines_.request(deadline));
  }
  Task<Result<bool>> swap_record(const Name& name, std::optional<std::string> expected,
                                 std::optional<std::string> value, Deadline deadline) override {
    return records_.swap(some_session(), name, std::move(expected), std::move(value),
                         deadlines_.request(deadline));
  }
  Task<Result<std::vector<Record>>> list_records(const std::string& prefix,
                                                 Deadline deadline) override {
    return records_.list(some_session(), prefix, deadlines_.request(deadline));
  }
  Task<void> close() override;

 private:
  using SessionRef = std::shared_ptr<Session>;

  SessionRef make_session(Duration timeout, std::optional<zookeeper::SessionKey> key = {});
  SessionRef session_for(const Claim& claim);
  // Any, for what belongs to no claim of ours.
  SessionRef some_session(Duration ttl = std::chrono::seconds(30));

  void believe(ClaimState& state, const Grant& grant);
  // A hold that nobody believes in any longer.
  Task<void> end_overdue(Claims::State state);
  Task<void> remove_in_background(Claims::State state);
  // Ends what a claim has that is not among ours, or whose node we do not know.
  Task<Result<bool>> release_stranger(const Claim& claim, Deadline deadline);
  // A hold of another process, by its handle.
  Task<void> renew_stranger(const Hold& hold, Deadline deadline, Result<Grant>& outcome);
  Task<Result<Claims::State>> take_over(const Hold& hold, Deadline deadline);
  Task<Result<void>> move_to(const Claims::State& state, SessionRef session, Deadline deadline);
  Task<void> close_session(SessionRef session);

  KnownServer known_{zookeeper_guarantees()};
  const zookeeper::Settings settings_;
  const Deadlines deadlines_{runtime(), settings_.request_timeout};
  LockNodes nodes_{settings_};
  LockView view_;
  zookeeper::Records records_;
  Renewals renewals_;
  std::map<Duration, SessionRef> sessions_;  // by the timeout that was asked for
  Claims claims_;
  NodeWatches node_watches_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

ZooKeeperEngine::ZooKeeperEngine(zookeeper::Settings settings, Runtime& runtime)
    : Engine(runtime),
      settings_(std::move(settings)),
      view_(runtime, nodes_),
      records_(runtime, nodes_, settings_.access),
      renewals_(
          runtime, nodes_,
          {.renewed = [this](ClaimState& state, const Grant& grant) { believe(state, grant); },
           .lost =
               [this](ClaimState& state, bool node_is_there) {
                 const Claims::State lost = claims_.find(state.claim.id);
                 if (lost.get() != &state) return;
                 claims_.forget(state);
                 if (node_is_there) background_.spawn(remove_in_background(lost));
               }}),
      node_watches_(runtime, claims_, settings_.request_timeout),
      background_(runtime) {}

Task<Result<Examination>> ZooKeeperEngine::examine(Deadline deadline) {
  const Result<std::vector<zookeeper::ServerFacts>> facts =
      co_await zookeeper::ask_facts(runtime(), settings_, deadlines_.request(deadline));
  if (!facts) co_return facts.failure();
  static_cast<void>(known_.learn(zookeeper::examined(*facts)));
  co_return *known_.last();
}

// ---- Sessions ----------------------------------------------------------------------------------

ZooKeeperEngine::SessionRef ZooKeeperEngine::make_session(
    Duration timeout, std::optional<zookeeper::SessionKey> key) {
  auto session = std::make_shared<Session>(runtime(), settings_, timeout, std::move(key));
  session->on_expired = [this, expired = session.get()] {
    std::vector<ClaimId> lost;
    claims_.for_each([&](ClaimState& state) {
      if (state.session.get() != expired) return;
      state.told.set();
      if (state.held) lost.push_back(state.claim.id);
    });
    for (const ClaimId& id : lost) doubt(id);
  };
  return session;
}

ZooKeeperEngine::SessionRef ZooKeeperEngine::session_for(const Claim& claim) {
  // A client whose ttls are all different must not have a connection for each.
  constexpr std::size_t kMaxSessions = 8;
  const Duration timeout = Session::timeout_for(claim.ttl);
  if (claim.outlives_process) return make_session(timeout);
  const auto found = sessions_.find(timeout);
  if (found != sessions_.end()) return found->second;
  if (sessions_.size() >= kMaxSessions) {
    const auto longer = sessions_.lower_bound(timeout);
    return longer != sessions_.end() ? longer->second : sessions_.rbegin()->second;
  }
  return sessions_[timeout] = make_session(timeout);
}

ZooKeeperEngine::SessionRef ZooKeeperEngine::some_session(Duration ttl) {
  for (const auto& [timeout, session] : sessions_) {
    if (session->attached()) return session;
  }
  if (!sessions_.empty()) return sessions_.begin()->second;
  const Duration timeout = Session::timeout_for(ttl);
  return sessions_[timeout] = make_session(timeout);
}

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Grant>> ZooKeeperEngine::acquire(const Claim& claim, const Wait& wait) {
  if (const Claims::State known = claims_.find(claim.id); known && known->held) {
    const Hold hold{claim, known->token};
    const std::vector<Result<Grant>> outcomes =
        co_await renew(std::span(&hold, 1), deadlines_.request(wait.deadline));
    if (outcomes.front() || outcomes.front().code() != Code::not_held) co_return outcomes.front();
  }
  const auto state = std::make_shared<ClaimState>(runtime(), claim, session_for(claim),
                                                  nodes_.lock_path(claim.name));
  state->on_intrusion = [this, id = claim.id] { doubt(id); };
  claims_.add(state);
  Acquisition acquisition(runtime(), nodes_, claims_.queue, *state, wait, settings_.request_timeout,
                          [this](Task<void> task) { background_.spawn(std::move(task)); });
  const Result<Grant> grant = co_await acquisition.run();
  if (!grant) {
    claims_.forget(*state);
    co_return grant;
  }
  if (claim.outlives_process) {
    // From now on it is nobody's in particular: whoever has the handle finds it.
    claims_.forget(*state);
    state->session->leave_behind();
  } else {
    believe(*state, *grant);
    node_watches_.granted(*state);
  }
  co_return grant;
}

void ZooKeeperEngine::believe(ClaimState& state, const Grant& grant) {
  state.believe_until(grant.counted_from + grant.ttl, [this, id = state.claim.id] {
    const Claims::State overdue = claims_.find(id);
    if (overdue && overdue->held) background_.spawn(end_overdue(overdue));
  });
}

Task<void> ZooKeeperEngine::end_overdue(Claims::State state) {
  state->held = false;
  claims_.forget(*state);
  co_await remove_in_background(std::move(state));
}

Task<void> ZooKeeperEngine::remove_in_background(Claims::State state) {
  for (Duration pause = std::chrono::milliseconds(10); !state->expired();
       pause = std::min<Duration>(pause * 2, std::chrono::seconds(1))) {
    const Deadline limit = deadlines_.request();
    const std::string path = state->node_path();
    const bool tell = state->claim.mode != Mode::permit;
    const Result<LockNodes::Removal> removed =
        co_await nodes_.remove(*state->session, path, tell, limit);
    if (removed || removed.code() == Code::closed) co_return;
    const BootTime again = runtime().now() + runtime().jitter(pause);
    if (co_await sleep_until(runtime(), again, background_.stop_token()) == Woken::cancelled) {
      co_return;
    }
  }
}

// ---- Giving back -------------------------------------------------------------------------------

Task<Result<bool>> ZooKeeperEngine::release(const Claim& claim, Deadline deadline) {
  const Claims::State state = claims_.find(claim.id);
  const Deadline limit = deadlines_.request(deadline);
  if (!state) co_return co_await release_stranger(claim, limit);
  const bool held = std::exchange(state->held, false);
  state->ended = true;
  state->told.set();
  claims_.forget(*state);
  if (state->node.empty()) co_return co_await release_stranger(claim, limit);
  if (state->expired()) co_return false;
  const std::string path = state->node_path();
  // Where nobody was about when it came, nobody is likely to be told; who is, looks for itself.
  const bool tell = held && state->contended && claim.mode != Mode::permit;
  const Result<LockNodes::Removal> removed =
      co_await nodes_.remove(*state->session, path, tell, limit);
  if (!removed && state->expired()) co_return false;
  if (!removed) co_return removed.failure();
  if (held && removed->removed && claim.mode == Mode::exclusive) {
    nodes_.left(state->lock_path, state->node, state->token, state->contended);
  }
  // Nothing there the second time: the first attempt may have ended it.
  co_return held && (removed->removed || removed->repeated);
}

Task<Result<bool>> ZooKeeperEngine::release_stranger(const Claim& claim, Deadline deadline) {
  const SessionRef session = some_session(claim.ttl);
  std::string lock_path = nodes_.lock_path(claim.name);
  const Result<std::vector<std::string>> children =
      co_await nodes_.children_of(*session, lock_path, true, deadline);
  if (!children) co_return children.failure();
  const std::vector<zookeeper::ClaimNode> nodes = zookeeper::in_order(*children);
  bool held = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].claim != claim.id) continue;
    const bool holder = zookeeper::holds(nodes, i);
    const std::string path = lock_path + '/' + nodes[i].name;
    const bool tell = holder && claim.mode != Mode::permit;
    const Result<LockNodes::Removal> removed =
        co_await nodes_.remove(*session, path, tell, deadline);
    if (!removed) co_return removed.failure();
    held = held || (holder && (removed->removed || removed->repeated));
  }
  co_return held;
}

// ---- Keeping -----------------------------------------------------------------------------------

Task<std::vector<Result<Grant>>> ZooKeeperEngine::renew(std::span<const Hold> holds,
                                                        Deadline deadline) {
  const Deadline limit = deadlines_.request(deadline);
  std::vector<Result<Grant>> outcomes(holds.size(), Failure(Code::unreachable, "not asked"));
  std::vector<Renewals::Item> items;
  TaskGroup group(runtime());
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const Claims::State state = claims_.find(holds[i].claim.id);
    if (!state) {
      group.spawn(renew_stranger(holds[i], limit, outcomes[i]));
    } else if (!state->held || state->token != holds[i].token) {
      outcomes[i] = Renewals::not_held(holds[i].claim.name);
    } else {
      items.push_back({state, &outcomes[i]});
    }
  }
  if (!items.empty()) co_await renewals_.renew(std::move(items), limit);
  static_cast<void>(co_await group.join(Deadline::never()));
  co_return outcomes;
}

Task<void> ZooKeeperEngine::renew_stranger(const Hold& hold, Deadline deadline,
                                           Result<Grant>& outcome) {
  const Result<Claims::State> taken = co_await take_over(hold, deadline);
  if (!taken) {
    outcome = taken.failure();
    co_return;
  }
  std::vector<Renewals::Item> items;
  items.push_back({*taken, &outcome});
  co_await renewals_.renew(std::move(items), deadline);
}

Task<Result<Claims::State>> ZooKeeperEngine::take_over(const Hold& hold, Deadline deadline) {
  const SessionRef mine = some_session(hold.claim.ttl);
  std::string lock_path = nodes_.lock_path(hold.claim.name);
  const Result<std::vector<SeenNode>> seen = co_await view_.look(*mine, lock_path, deadline);
  if (!seen) co_return seen.failure();
  const std::vector<zookeeper::ClaimNode> nodes = LockView::names_of(*seen);
  for (std::size_t i = 0; i < seen->size(); ++i) {
    const SeenNode& one = (*seen)[i];
    if (one.node.claim != hold.claim.id || one.token() != hold.token) continue;
    if (!zookeeper::holds(nodes, i)) break;
    if (!one.data || !one.data->session) {
      co_return Failure(Code::unsupported,
                        "the lock '" + hold.claim.name.display() +
                            "' is held by a client that lives, and was not detached from it");
    }
    const SessionRef session =
        make_session(Session::timeout_for(hold.claim.ttl), one.data->session);
    const Result<void> opened = co_await session->open(deadline);
    if (!opened) co_return opened.failure();
    const auto state =
        std::make_shared<ClaimState>(runtime(), hold.claim, session, std::move(lock_path));
    state->node = one.node.name;
    state->token = hold.token;
    state->incarnation = session->incarnation();
    state->held = true;
    claims_.add(state);
    co_return state;
  }
  co_return Renewals::not_held(hold.claim.name);
}

// ---- Handing over to other processes -----------------------------------------------------------

Task<Result<void>> ZooKeeperEngine::detach(const Hold& hold, Deadline deadline) {
  const Deadline limit = deadlines_.request(deadline);
  const Claims::State state = claims_.find(hold.claim.id);
  if (!state || !state->held || state->expired()) co_return Renewals::not_held(hold.claim.name);
  if (zookeeper::parse_claim_node(state->node)->kept) {  // It was taken over by its handle.
    claims_.forget(*state);
    state->session->leave_behind();
    co_return Result<void>();
  }
  // A session of its own, which is then left to whoever has the handle. The node moves there, to
  // the same place in the queue.
  const SessionRef session = make_session(Session::timeout_for(hold.claim.ttl));
  const Result<void> opened = co_await session->open(limit);
  if (!opened) co_return opened.failure();
  Result<void> moved =
      session->timeout() < hold.claim.ttl
          ? Failure(Code::unsupported,
                    "these ZooKeeper servers do not keep a session without its client for as long "
                    "as the ttl of this lock; raise maxSessionTimeout")
          : Result<void>();
  if (moved) moved = co_await move_to(state, session, limit);
  if (!moved) {
    if (moved.code() != Code::unknown) co_await close_session(session);
    co_return moved;
  }
  claims_.forget(*state);
  session->leave_behind();
  co_return moved;
}

Task<Result<void>> ZooKeeperEngine::move_to(const Claims::State& state, SessionRef session,
                                            Deadline deadline) {
  const NodeData data{.ttl = state->claim.ttl,
                      .session = session->key(),
                      .token = state->token,
                      .label = state->claim.label};
  const std::string from = state->node_path();
  const std::string to = state->lock_path + '/' + zookeeper::kept_name(state->claim, state->node);
  Requests requests;
  {
    Requests::Transaction transaction(requests);
    transaction.check(from, state->claim.mode == Mode::permit ? -1 : 0);
    transaction.create(to, data.text(), settings_.access, CreateMode::ephemeral);
    transaction.remove(from, -1);
  }
  const Result<Answers> answers = co_await session->call(std::move(requests), deadline);
  if (!answers) co_return answers.failure();
  const Error error = answers->replies.front().error;
  if (error == Error::none) co_return Result<void>();
  if (error == Error::no_node || error == Error::bad_version) {
    co_return Renewals::not_held(state->claim.name);
  }
  co_return nodes_.failure_of(*session, error, "moving", from);
}

// ---- Showing and breaking ----------------------------------------------------------------------

Task<Result<LockInfo>> ZooKeeperEngine::inspect(const Name& name, Deadline deadline) {
  const SessionRef session = some_session();
  co_return co_await view_.inspect(*session, name, deadlines_.request(deadline));
}

Task<Result<std::vector<LockInfo>>> ZooKeeperEngine::list(const std::string& prefix,
                                                          Deadline deadline) {
  const SessionRef session = some_session();
  co_return co_await view_.list(*session, prefix, deadlines_.request(deadline));
}

Task<Result<void>> ZooKeeperEngine::evict(const Name& name, Token token, Deadline deadline) {
  const Deadline limit = deadlines_.request(deadline);
  const SessionRef session = some_session();
  std::string lock_path = nodes_.lock_path(name);
  const Result<std::vector<SeenNode>> seen = co_await view_.look(*session, lock_path, limit);
  if (!seen) co_return seen.failure();
  const std::vector<zookeeper::ClaimNode> nodes = LockView::names_of(*seen);
  for (std::size_t i = 0; i < seen->size(); ++i) {
    if ((*seen)[i].token() != token || !zookeeper::holds(nodes, i)) continue;
    const std::string path = lock_path + '/' + nodes[i].name;
    const Result<LockNodes::Removal> removed = co_await nodes_.remove(*session, path, false, limit);
    if (!removed) co_return removed.failure();
    if (removed->removed || removed->repeated) co_return Result<void>();
  }
  co_return not_held_with(name, token);
}

Task<Result<LockInfo>> ZooKeeperEngine::watch(const Name& name, Token known, const Wait& wait) {
  constexpr Duration kLookAgain = std::chrono::seconds(10);
  const SessionRef session = some_session();
  const Session::Use use(session);
  const std::string path = nodes_.lock_path(name);
  Event told(runtime());
  for (;;) {
    told.reset();
    const Session::Watch children(*session, Session::Watch::Kind::children, path, told);
    const Deadline limit = deadlines_.answer(wait);
    Requests requests;
    requests.get_children(path, true);
    const Result<Answers> watched = co_await session->call(std::move(requests), limit, wait.stop);
    Result<LockInfo> info = co_await view_.inspect(*session, name, limit);
    if (!info) co_return info;
    if (info->last_token != known) co_return info;
    if (!wait.queue || wait.deadline.passed(runtime().now())) {
      co_return Failure::busy(Busy{.holder = "the same holder as before", .token = known.value()});
    }
    // A lock that has no node cannot be watched.
    const bool set = watched && watched->replies.front().ok();
    const Duration pause = set ? kLookAgain : Duration(std::chrono::milliseconds(100));
    const Deadline until = wait.deadline.sooner(runtime().now() + runtime().jitter(pause));
    if (co_await told.wait(until, wait.stop) == Woken::cancelled) {
      co_return cancelled_by_caller();
    }
  }
}

// ---- Closing -----------------------------------------------------------------------------------

Task<void> ZooKeeperEngine::close_session(SessionRef session) {
  constexpr Duration kLongest = std::chrono::seconds(1);
  co_await session->close(Deadline::at(runtime().now() + kLongest));
}

Task<void> ZooKeeperEngine::close() {
  background_.stop();
  node_watches_.stop();
  claims_.for_each([this](ClaimState& state) {
    const bool shared = std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
      return entry.second == state.session;
    });
    if (!shared) state.session->leave_behind();  // of a handle
  });
  TaskGroup closing(runtime());
  for (const auto& [timeout, session] : sessions_) closing.spawn(close_session(session));
  static_cast<void>(co_await closing.join(Deadline::never()));
  background_.abandon();
  claims_.clear();
}

}  // namespace

Result<std::unique_ptr<Engine>> open_zookeeper_engine(const Url& url, Runtime& runtime,
                                                      const ClientOptions& options) {
  Result<zookeeper::Settings> settings = zookeeper::settings_from(url, options);
  if (!settings) return settings.failure();
  return std::unique_ptr<Engine>(
      std::make_unique<ZooKeeperEngine>(std::move(settings).value(), runtime));
}

}  // namespace holdfast::internal
