#include "engines/zookeeper/acquisition.h"

#include <algorithm>

#include "engines/kit/failures.h"
#include "engines/kit/patience.h"
#include "engines/kit/withdrawal.h"

namespace holdfast::internal::zookeeper {

namespace {

NodeData data_of(const ClaimState& state) {
  NodeData data{.ttl = state.claim.ttl, .session = {}, .token = {}, .label = state.claim.label};
  if (state.claim.outlives_process) data.session = state.session->key();
  return data;
}

}  // namespace

std::optional<Grant> grant_of(const ClaimState& state) {
  const SessionProof& proof = state.session->proof();
  const Duration ttl = std::min(state.claim.ttl, proof.timeout());
  const std::optional<BootTime> from = proof.counted_from(ttl);
  if (!from || state.expired()) return std::nullopt;
  return Grant{state.token, *from, ttl};
}

// ---- The way -----------------------------------------------------------------------------------

Task<Result<Grant>> Acquisition::run() {
  if (wait_.stop.stop_requested()) co_return cancelled_by_caller();
  for (Next next = Next::enter;;) {
    if (next == Next::granted) {
      Result<Grant> grant = co_await granted();
      if (grant) co_return grant;
      if (grant.code() != Code::not_held) co_return co_await give_up(grant.failure());
      next = Next::enter;  // It ended before it began.
    }
    Result<std::optional<Children>> children = std::optional<Children>();
    if (next == Next::enter) {
      children = co_await enter();
    } else {
      Result<Children> seen = co_await look();
      children = seen ? Result<std::optional<Children>>(*std::move(seen)) : seen.failure();
    }
    if (!children) co_return co_await give_up(children.failure());
    if (state_.ended) co_return co_await give_up(cancelled_by_caller());
    Result<Next> after = Next::look;
    if (*children) {
      after = co_await act_on(**children);
    } else {
      after = co_await wait_in_local_queue();
    }
    if (!after && after.code() == Code::busy && !kept_out_by_.holder.empty()) {
      co_return co_await give_up_busy(kept_out_by_);
    }
    if (!after) co_return co_await give_up(after.failure());
    next = *after;
  }
}

Task<Result<Acquisition::Next>> Acquisition::act_on(const Children& children) {
  const Decision decision = decide(children, state_.node);
  kept_out_by_ = {};
  state_.contended = state_.contended || children.size() > 1;
  if (!decision.present) co_return Next::enter;
  if (decision.elder) {
    const std::string elder = *decision.elder;
    const Result<void> adopted = co_await adopt(elder);
    if (!adopted) co_return adopted.failure();
    co_return Next::look;
  }
  if (decision.used_up) {
    const Result<void> again = co_await start_numbers_again();
    if (!again) co_return again.failure();
    co_return Next::enter;
  }
  if (decision.other_permits) {
    co_return other_permits(claim(), *decision.other_permits);
  }
  if (decision.granted) co_return Next::granted;
  kept_out_by_ = decision;
  if (!wait_.queue) co_return Failure::busy({});
  waited_ = true;
  queue_locally();
  inform_others(children);
  co_return co_await wait_behind(decision);
}

Task<Result<Grant>> Acquisition::granted() {
  if (wait_.stop.stop_requested()) co_return cancelled_by_caller();
  std::optional<Grant> grant = grant_of(state_);
  // A grant that is half over is worth little to a caller that does not renew it.
  if (!grant || runtime_.now() > grant->counted_from + grant->ttl / 2) {
    const Result<bool> there = co_await confirm();
    if (!there) co_return there.failure();
    grant = grant_of(state_);
    if (!*there || !grant) co_return Failure(Code::not_held, "the session expired");
  }
  state_.held = true;
  if (waited_ && claim().mode == Mode::permit) {
    // The claim that watches this one is now among the first waiters, and has to know.
    NodeData data = data_of(state_);
    data.held = true;
    Requests requests;
    requests.set_data(state_.node_path(), data.text(), -1);
    spawn_([](std::shared_ptr<Session> session, Requests mark, Deadline deadline) -> Task<void> {
      static_cast<void>(co_await session->ask(std::move(mark), deadline));
    }(state_.session, std::move(requests), Deadline::at(runtime_.now() + claim().ttl)));
  }
  co_return *grant;
}

Task<Result<bool>> Acquisition::confirm() {
  Requests requests;
  {
    Requests::Transaction transaction(requests);
    transaction.check(state_.node_path(), -1);
  }
  const Deadline limit = deadlines_.answer(wait_);
  const Result<Answers> answers = co_await session().ask(std::move(requests), limit, wait_.stop);
  if (!answers) co_return answers.failure();
  const Error error = answers->replies.front().error;
  if (error != Error::none && error != Error::no_node) {
    co_return nodes_.failure_of(session(), error, "reading", state_.node_path());
  }
  co_return error == Error::none;
}

// ---- Entering ----------------------------------------------------------------------------------

Task<Result<std::optional<Acquisition::Children>>> Acquisition::enter() {
  using Reading = LockNodes::Reading;
  queued_.reset();
  state_.sentry.reset();
  state_.node.clear();
  for (;;) {
    const Deadline limit = deadlines_.answer(wait_);
    const Result<void> opened = co_await session().open(limit, wait_.stop);
    if (!opened) co_return opened.failure();
    if (claim().outlives_process && session().timeout() < claim().ttl) {
      co_return Failure(
          Code::unsupported,
          "these ZooKeeper servers keep a session without its client for at most " +
              std::to_string(
                  std::chrono::ceil<std::chrono::milliseconds>(session().timeout()).count()) +
              " ms: ask for a ttl of at most that, or raise maxSessionTimeout");
    }
    std::string data = data_of(state_).text();
    state_.incarnation = session().incarnation();
    may_be_there_ = true;
    const bool behind = wait_.queue && claim().mode == Mode::exclusive &&
                        local_queue_.long_enough(state_.lock_path);
    const bool alone = !behind && nodes_.likely_alone(state_.lock_path);
    const Reading reading = behind || alone ? Reading::nothing : Reading::queue;
    Result<LockNodes::Entered> entered =
        co_await nodes_.enter(session(), claim(), std::move(data), reading, limit, wait_.stop);
    if (entered) {
      may_be_there_ = false;
      state_.node = entered->node;
      state_.token = entered->token;
      state_.incarnation = entered->incarnation;
      if (entered->children) co_return std::move(entered->children);
      if (alone && nodes_.is_alone(state_.lock_path, state_.node, state_.token)) {
        co_return Children{state_.node};
      }
      if (behind && !runs_out(parse_claim_node(state_.node)->sequence)) co_return std::nullopt;
      Result<Children> children = co_await look();
      if (!children) co_return children.failure();
      co_return *std::move(children);
    }
    if (entered.code() != Code::unknown) {
      may_be_there_ = false;
      co_return entered.failure();
    }
    const bool over = wait_.stop.stop_requested() || wait_.deadline.passed(runtime_.now());
    if (over) co_return entered.failure();
    Children children;
    const Result<bool> found = co_await find_again(children);
    if (!found) co_return found.failure();
    if (*found) co_return std::move(children);
  }
}

Task<Result<bool>> Acquisition::find_again(Children& children) {
  const Deadline limit = deadlines_.answer(wait_);
  const Result<void> opened = co_await session().open(limit, wait_.stop);
  if (!opened) co_return Failure(Code::unknown, opened.message());
  if (state_.expired()) {
    may_be_there_ = false;  // With its session.
    co_return false;
  }
  Result<Children> listed =
      co_await nodes_.children_of(session(), state_.lock_path, true, limit, wait_.stop);
  if (!listed) co_return Failure(Code::unknown, listed.message());
  for (const std::string& child : *listed) {
    const std::optional<ClaimNode> node = parse_claim_node(child);
    if (!node || node->claim != claim().id) continue;
    const Result<void> adopted = co_await adopt(child);
    if (!adopted) co_return Failure(Code::unknown, adopted.message());
    may_be_there_ = false;
    children = *std::move(listed);
    co_return true;
  }
  may_be_there_ = false;  // Nor will it come: it was sent before we asked.
  co_return false;
}

Task<Result<void>> Acquisition::adopt(std::string elder) {
  Requests requests;
  const std::string path = state_.lock_path + '/' + elder;
  requests.get_data(path, false);
  if (!state_.node.empty()) requests.remove(state_.node_path());
  const Deadline limit = deadlines_.answer(wait_);
  const Result<Answers> answers = co_await session().ask(std::move(requests), limit, wait_.stop);
  if (!answers) co_return answers.failure();
  const Reply& read = answers->replies.front();
  if (!read.ok()) co_return nodes_.failure_of(session(), read.error, "reading", path);
  const std::optional<NodeData> data = NodeData::parse(read.data);
  state_.sentry.reset();
  state_.node = elder;
  state_.token = Token(static_cast<std::uint64_t>(read.stat->czxid));
  if (data && data->token) state_.token = *data->token;
  // Others may have queued behind it meanwhile, and wait to hear that it holds. (A node with a token in its
  // data was detached, and held before.)
  if (!data || !data->token) waited_ = true;
  state_.incarnation = session().incarnation();
  co_return Result<void>();
}

Task<Result<void>> Acquisition::start_numbers_again() {
  constexpr int kMaxTries = 20;
  if (!wait_.queue && ++restarts_ > kMaxTries) {
    co_return Failure(Code::misconfigured,
                      "ZooKeeper: the child numbers of '" + state_.lock_path +
                          "' have run out; delete that node when nobody uses the lock");
  }
  const Deadline limit = deadlines_.answer(wait_);
  const std::string path = state_.node_path();
  const Result<LockNodes::Removal> removed = co_await nodes_.remove(session(), path, false, limit);
  if (!removed) co_return removed.failure();
  state_.node.clear();
  // Others may be in the queue still: then they are waited for by asking again.
  const BootTime again = runtime_.now() + runtime_.jitter(std::chrono::milliseconds(20), 0.9);
  static_cast<void>(co_await sleep_until(runtime_, again, wait_.stop));
  if (wait_.stop.stop_requested()) co_return cancelled_by_caller();
  if (wait_.deadline.passed(runtime_.now())) {
    co_return Failure::busy(Busy{.holder = "others, until the child numbers can start again"});
  }
  co_return Result<void>();
}

Task<Result<Acquisition::Children>> Acquisition::look() {
  const BootTime begin = runtime_.now();
  for (;;) {
    const Deadline limit = deadlines_.answer(wait_);
    Result<Children> children =
        co_await nodes_.children_of(session(), state_.lock_path, false, limit, wait_.stop);
    if (children || !may_pass(children.code())) co_return children;
    if (wait_.stop.stop_requested()) co_return cancelled_by_caller();
    const BootTime now = runtime_.now();
    if (wait_.deadline.passed(now) || now - begin > patience()) co_return children.failure();
    const BootTime again = now + runtime_.jitter(std::chrono::milliseconds(20));
    static_cast<void>(co_await sleep_until(runtime_, again, wait_.stop));
  }
}

// ---- Waiting -----------------------------------------------------------------------------------

Task<Result<bool>> Acquisition::set_watch(const Decision& decision) {
  Requests requests;
  // Our own node as well, and first: a claim whose node was taken away must not become a holder later.
  const bool sentry = claim().mode != Mode::permit && !state_.sentry;
  if (sentry) {
    state_.post_sentry();
    requests.get_data(state_.node_path(), true);
  }
  if (decision.watch.empty()) {
    requests.get_children(state_.lock_path, true);
  } else {
    requests.get_data(state_.lock_path + '/' + decision.watch, true);
  }
  const Deadline limit = deadlines_.answer(wait_);
  const Result<Answers> answers = co_await session().ask(std::move(requests), limit, wait_.stop);
  if (!answers && answers.code() != Code::unknown) co_return answers.failure();
  if (!answers || answers->replies.front().error == Error::no_node) {
    if (sentry) state_.sentry.reset();
    co_return false;
  }
  const Reply& reply = answers->replies.back();
  if (reply.error == Error::no_node) co_return false;
  if (!reply.ok()) co_return nodes_.failure_of(session(), reply.error, "reading", state_.lock_path);
  if (decision.watch.empty()) {
    // The queue may have changed since the decision.
    const Decision now = decide(reply.children, state_.node);
    co_return now.present && !now.granted && now.watch.empty();
  }
  if (!decision.look_if_held) co_return true;
  const std::optional<NodeData> data = NodeData::parse(reply.data);
  co_return !data || !data->held;
}

Task<Result<Acquisition::Next>> Acquisition::wait_behind(const Decision& decision) {
  using Kind = Session::Watch::Kind;
  const bool all = decision.watch.empty();
  state_.told.reset();
  const Session::Watch watch(session(), all ? Kind::children : Kind::data,
                             all ? state_.lock_path : state_.lock_path + '/' + decision.watch,
                             state_.told);
  const Session::Vouched self(session(), state_.node_path(), state_.told);
  const Result<bool> set = co_await set_watch(decision);
  if (!set && !may_pass(set.code())) co_return set.failure();
  if (wait_.stop.stop_requested()) co_return cancelled_by_caller();
  if (wait_.deadline.passed(runtime_.now())) co_return Failure::busy({});
  if (!set || !*set) co_return Next::look;
  BootTime last_attached = runtime_.now();
  BootTime look_by = runtime_.now() + own_pace();
  for (;;) {
    if (state_.expired() || self.gone()) co_return Next::enter;
    // Told of in the order in which it happened; if both, a look shows what is left.
    if (state_.sentry && state_.sentry->fired()) {
      state_.sentry.reset();
      co_return Next::look;
    }
    if (watch.fired()) {
      const bool grants =
          decision.end_grants || (decision.release_grants && watch.saw_data_change());
      co_return grants ? Next::granted : Next::look;
    }
    if (runtime_.now() >= look_by) {
      look_by = runtime_.now() + own_pace();
      // Is it still there? With permits that is not all: the news that it holds may be lost.
      if (claim().mode == Mode::permit) co_return Next::look;
      // (The first of our own claims looks for all. No `?:` here: GCC 12 destroys what it awaits twice.)
      Result<bool> there = true;
      if (!queued_ || queued_->first()) there = co_await set_watch(decision);
      if (!there && !may_pass(there.code())) co_return there.failure();
      if (watch.fired()) continue;
      if (!there || !*there) co_return Next::look;
    }
    const Result<void> rested = co_await rest(last_attached, look_by);
    if (state_.ended) co_return cancelled_by_caller();
    if (!rested && !watch.fired()) co_return rested.failure();  // It may come in the last moment.
    if (!rested && rested.code() == Code::cancelled) co_return rested.failure();
  }
}

// At least as long as the session, and with it the position in the queue, may still be there.
Duration Acquisition::patience() const {
  return std::max<Duration>(kWaiterPatience, session().timeout());
}

Duration Acquisition::own_pace() const {
  return runtime_.jitter(std::min<Duration>(claim().ttl / 2, std::chrono::seconds(15)));
}

Task<Result<void>> Acquisition::rest(BootTime& last_attached, BootTime until) {
  // A server that stays away notifies nobody.
  constexpr Duration kLook = std::chrono::seconds(1);
  const BootTime now = runtime_.now();
  if (session().attached()) last_attached = now;
  if (now - last_attached > patience()) {
    co_return Failure(Code::unreachable, "no ZooKeeper server has answered for a while");
  }
  const Deadline limit = wait_.deadline.sooner(until).sooner(now + runtime_.jitter(kLook));
  const Woken woken = co_await state_.told.wait(limit, wait_.stop);
  state_.told.reset();
  if (state_.ended || woken == Woken::cancelled) co_return cancelled_by_caller();
  if (wait_.deadline.passed(runtime_.now())) co_return Failure::busy({});
  co_return Result<void>();
}

// ---- Behind other claims of this client --------------------------------------------------------

void Acquisition::queue_locally() {
  const std::int32_t number = parse_claim_node(state_.node)->sequence;
  if (queued_ || claim().mode != Mode::exclusive || runs_out(number)) return;
  queued_.emplace(local_queue_, state_.lock_path, state_.node, static_cast<std::uint64_t>(number),
                  state_.told);
}

void Acquisition::inform_others(const Children& children) {
  std::vector<ClaimNode> nodes;
  local_queue_.for_each_unsure(state_.lock_path, [&](LocalQueue<Predecessor>::Entry& entry) {
    if (nodes.empty()) nodes = in_order(children);
    const auto own = std::ranges::lower_bound(nodes, static_cast<std::int32_t>(entry.order()), {},
                                              &ClaimNode::sequence);
    // Not there yet, not there any more, or the first of all: then it looks for itself.
    if (own == nodes.end() || own == nodes.begin() || own->name != entry.name()) return;
    entry.before = Predecessor{*std::prev(own), std::prev(own) == nodes.begin()};
  });
}

Task<Result<Acquisition::Next>> Acquisition::wait_in_local_queue() {
  waited_ = true;
  state_.contended = true;
  kept_out_by_ = {};
  state_.told.reset();
  queue_locally();
  {
    const Session::Vouched self(session(), state_.node_path(), state_.told);
    BootTime last_attached = runtime_.now();
    while (!queued_->near_front()) {
      if (state_.expired() || self.gone()) co_return Next::enter;
      const Result<void> rested = co_await rest(last_attached, BootTime::max());
      // A look finds the holder; the wait after it ends at once.
      if (!rested && rested.code() == Code::busy) co_return Next::look;
      if (!rested) co_return rested.failure();
    }
  }
  if (!queued_->before) co_return Next::look;
  const Decision decision = decide_behind(*queued_->before);
  const Result<Next> after = co_await wait_behind(decision);
  if (!after && after.code() == Code::busy) co_return Next::look;
  co_return after;
}

// ---- Giving up ---------------------------------------------------------------------------------

Task<Result<void>> Acquisition::remove_all() {
  const Deadline limit = deadlines_.withdrawal();
  if (state_.expired()) co_return Result<void>();
  if (!state_.node.empty()) {
    const std::string path = state_.node_path();
    const Result<LockNodes::Removal> removed =
        co_await nodes_.remove(session(), path, false, limit);
    if (!removed && !state_.expired()) co_return removed.failure();
    co_return Result<void>();
  }
  if (!may_be_there_) co_return Result<void>();
  const Result<Children> children =
      co_await nodes_.children_of(session(), state_.lock_path, true, limit);
  if (!children && !state_.expired()) co_return children.failure();
  for (std::size_t i = 0; children && i < children->size(); ++i) {
    const std::optional<ClaimNode> node = parse_claim_node((*children)[i]);
    if (!node || node->claim != claim().id) continue;
    const std::string path = state_.lock_path + '/' + node->name;
    const Result<LockNodes::Removal> removed =
        co_await nodes_.remove(session(), path, false, limit);
    if (!removed) co_return removed.failure();
  }
  co_return Result<void>();
}

Task<Result<Grant>> Acquisition::give_up(Failure why) {
  const Result<void> withdrawn = co_await remove_all();
  if (withdrawn && wait_.stop.stop_requested()) co_return cancelled_by_caller();
  co_return after_withdrawal(why, withdrawn);
}

Task<Result<Grant>> Acquisition::give_up_busy(const Decision& decision) {
  Busy busy{.rank = decision.rank};
  Requests requests;
  requests.get_data(state_.lock_path + '/' + decision.holder, false);
  requests.remove(state_.node_path());
  const Deadline limit = deadlines_.request(deadlines_.withdrawal());
  const Result<Answers> answers = co_await session().ask(std::move(requests), limit);
  if (!answers) co_return co_await give_up(Failure::busy(std::move(busy)));
  const Reply& read = answers->replies.front();
  if (read.ok()) {
    const std::optional<NodeData> data = NodeData::parse(read.data);
    busy.holder = data ? data->label : foreign_label(read.data);
    busy.token =
        data && data->token ? data->token->value() : static_cast<std::uint64_t>(read.stat->czxid);
    if (data) busy.expires_in = data->ttl;
  }
  const Error removed = answers->replies.back().error;
  if (removed == Error::none || removed == Error::no_node) {
    co_return Failure::busy(std::move(busy));
  }
  co_return co_await give_up(Failure::busy(std::move(busy)));
}

}  // namespace holdfast::internal::zookeeper
