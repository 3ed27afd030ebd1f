#include "engines/table/server_table.h"

#include <algorithm>

#include "base/answer_grace.h"
#include "base/unreachable_instead_of_unknown.h"
#include "engines/kit/failures.h"

namespace holdfast::internal::table {

namespace {

constexpr Duration kCleanEvery = std::chrono::minutes(10);
// Nobody waits for a process that has been dead for so long.
constexpr Duration kLongDead = std::chrono::hours(1);

}  // namespace

// ---- Requests ----------------------------------------------------------------------------------

Task<Result<ServerTable::Asked>> ServerTable::ask(std::vector<SqlStatement> statements,
                                                  Deadline deadline, std::stop_token stop,
                                                  Urgency urgency) {
  return requests_.ask(server_.connections(), std::move(statements), deadline, std::move(stop),
                       urgency);
}

Task<Result<ServerTable::Turned>> ServerTable::take_turn(Key key, ClaimId claim, bool make,
                                                         Decide decide, Deadline deadline,
                                                         std::stop_token stop, Urgency urgency) {
  std::int64_t line = ServerRows::kUsualLine;
  bool repeated = false;
  for (;;) {
    Result<std::optional<Turned>> turned =
        co_await try_turn(key, claim, make, decide, line, repeated, deadline, stop, urgency);
    if (!turned) co_return repeated ? unknown(turned.failure()) : turned.failure();
    if (*turned) {
      (*turned)->repeated = repeated;
      if (repeated) let_own_look();
      clean_in_time();
      co_return **turned;
    }
  }
}

Task<Result<std::optional<ServerTable::Turned>>> ServerTable::try_turn(
    const Key& key, const ClaimId& claim, bool make, const Decide& decide, std::int64_t& line,
    bool& repeated, Deadline deadline, std::stop_token stop, Urgency urgency) {
  std::optional<SqlError> error;
  Deadline limit = deadline;
  {
    const Dialect& sql = server_.dialect();
    ServerRows rows(sql, key.key, claim, server_.process());
    std::vector<SqlStatement> questions(1, {sql.begin, {}});
    if (make) questions.push_back({sql.make, {key.key, key.full_name}});
    const std::size_t first = questions.size();
    for (SqlStatement& each : rows.questions(true, line)) questions.push_back(std::move(each));
    Result<ConnectionPool::Loan> loan =
        co_await server_.connections().take(deadline, stop, urgency);
    if (!loan) co_return loan.failure();
    loan->set_in_transaction(true);
    limit = requests_.limit_of(deadline);
    SqlOutcome outcome = co_await (*loan)->run(std::move(questions), limit, stop);
    if (outcome.error && outcome.error->lost) {
      // Nothing was committed, and the server rolls it back.
      if (outcome.error->cancelled || limit.passed(runtime_.now())) {
        co_return server_.failure_of(never_run(*outcome.error));
      }
      co_return std::optional<Turned>();
    }
    Turned turned{.sent_at = outcome.sent_at};
    Ending ending;
    if (outcome.ok()) {
      turned.found = rows.read(outcome.results, first);
      Turn turn(rows, rows.row(), rows.now(), rows.now() / 1000);
      const bool agreed = turned.found && decide(turn);
      turned.last_token = token_from(rows.row().token);
      ending = ending_of(turn, rows, agreed);
    } else {
      error = std::move(outcome.error);
      ending.statements.push_back({sql.rollback, {}});
    }
    const std::size_t count = ending.statements.size();
    // Not to be cancelled: it is short, and half-way nobody would know how it ended.
    const Deadline end_by = limit.later(runtime_.now() + kAnswerGrace);
    const SqlOutcome ended = co_await (*loan)->run(std::move(ending.statements), end_by);
    if (ended.results.size() == count) {
      loan->set_in_transaction(false);
      if (!error && !rows.ran_short()) {
        for (const Wake& wake : ending.at_home) server_.on_wake(wake.claim, wake.given);
        co_return std::optional(turned);
      }
      line *= 16;
    } else {
      // The connection is given up. If it was the server who said no, it has rolled back.
      if (!error) error = ended.error;
      if (!ending.changes) error->may_have_run = false;
      repeated = repeated || error->may_have_run;
    }
  }
  if (error) {
    const std::optional<Failure> failure = co_await requests_.recover(*error, limit, deadline);
    if (failure) co_return *failure;
  }
  co_return std::optional<Turned>();
}

ServerTable::Ending ServerTable::ending_of(Turn& turn, const ServerRows& rows, bool agreed) {
  const Dialect& sql = server_.dialect();
  Ending ending;
  if (!agreed || rows.ran_short()) {
    ending.statements.push_back({sql.rollback, {}});
    return ending;
  }
  ending.statements = rows.changes();
  ending.changes = !ending.statements.empty();
  for (const Wake& wake : turn.take_wakes()) {
    // Nobody here watches another: there is nothing to learn but a grant.
    if (!wake.given) continue;
    // (Below zero: it looks for itself, and may be of this client.)
    if (wake.process == server_.process() || wake.process < 0) {
      ending.at_home.push_back(wake);
    } else {
      ending.statements.push_back(server_.wake(wake));
    }
  }
  ending.statements.push_back({sql.commit, {}});
  return ending;
}

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Taken>> ServerTable::take(const Claim& claim, Deadline deadline, std::stop_token stop) {
  const Key key = key_of(claim.name);
  const Dialect& sql = server_.dialect();
  std::vector<SqlStatement> statements(1);
  SqlStatement& statement = statements.front();
  const bool moving = moves_.moving(key.key, runtime_.now());
  statement.text = moving ? sql.take_moving : sql.take;
  statement.values.reserve(5);
  statement.values.emplace_back(key.key);
  statement.values.emplace_back(key.full_name);
  statement.values.emplace_back(to_value(claim.id));
  statement.values.emplace_back(std::int64_t{claim.ttl.count()});
  statement.values.emplace_back(claim.label);
  const Result<Asked> asked = co_await ask(std::move(statements), deadline, stop);
  if (!asked) co_return asked.failure();
  Taken taken{.sent_at = asked->outcome.sent_at};
  const SqlRows& rows = asked->outcome.results.back();
  if (!rows.empty()) {
    taken.given = Given{token_from(rows.number(0, 0)), claim.ttl};
    moves_.seen(key.key, rows.bytes(0, 1), runtime_.now());
  }
  co_return taken;
}

Task<Result<Taken>> ServerTable::acquire(const Claim& claim, bool queue, Deadline deadline,
                                         std::stop_token stop) {
  // A claim that is queued already only wants to know its place.
  const bool new_here = !queued_.contains(claim.id);
  if (queue && new_here && claim.mode != Mode::permit) {
    const Key key = key_of(claim.name);
    Result<std::optional<Taken>> waits = co_await enqueue(claim, key, deadline, stop);
    if (!waits) co_return waits.failure();
    if (*waits) co_return **waits;
    if (claim.mode == Mode::exclusive) {
      // Nobody has it (any more), most likely.
      Result<Taken> at_once = co_await take(claim, deadline, stop);
      if (!at_once || at_once->given) co_return at_once;
    }
  }
  Result<Taken> taken = Taken();
  const auto decide = [&](Turn& turn) {
    taken = taken_from(turn.acquire(claim, claim.label, queue), queue);
    return taken.ok();
  };
  Decide decision = std::ref(decide);
  const Result<Turned> turned = co_await take_turn(
      key_of(claim.name), claim.id, true, std::move(decision), deadline, stop, Urgency::usual);
  if (!turned) co_return turned.failure();
  if (!taken) co_return taken;
  taken->sent_at = turned->sent_at;
  taken->standing.last_token = turned->last_token;
  taken->in_turn = true;
  if (taken->standing.waits) queued_.insert(claim.id);
  co_return taken;
}

Task<Result<std::optional<Taken>>> ServerTable::enqueue(const Claim& claim, const Key& key,
                                                        Deadline deadline, std::stop_token stop) {
  const Dialect& sql = server_.dialect();
  std::vector<SqlStatement> statements;
  statements.push_back({sql.hold, {key.key}});
  statements.push_back({sql.enqueue,
                        {key.key, to_value(claim.id), to_row(claim.mode),
                         std::int64_t{claim.permits}, std::int64_t{claim.ttl.count()},
                         server_.process(), std::int64_t{claim.outlives_process}, claim.label}});
  const Result<Asked> asked = co_await ask(std::move(statements), deadline, stop);
  if (!asked) co_return asked.failure();
  const SqlRows& rows = asked->outcome.results.back();
  if (rows.empty()) co_return std::optional<Taken>();
  queued_.insert(claim.id);
  Taken taken{.in_turn = true, .sent_at = asked->outcome.sent_at};
  Standing& standing = taken.standing;
  standing.waits = true;
  standing.last_token = token_from(rows.number(0, 0));
  Busy& busy = standing.in_the_way.busy;
  busy.token = standing.last_token.value();
  busy.holder = rows.bytes(0, 1);
  busy.expires_in = Duration(rows.number(0, 2));
  busy.rank = static_cast<std::uint64_t>(rows.number(0, 3));
  co_return std::optional(std::move(taken));
}

Task<Result<Taken>> ServerTable::look(const Claim& claim, Deadline deadline, std::stop_token stop) {
  const std::string key = key_of(claim.name).key;
  std::vector<SqlStatement> statements = server_.with_look(key, claim.id);
  statements.push_back({server_.dialect().look, {key, to_value(claim.id)}});
  const Result<Asked> asked = co_await ask(std::move(statements), deadline, stop);
  if (!asked) co_return unreachable_instead_of_unknown(asked.failure());
  const SqlRows& rows = asked->outcome.results.back();
  Taken taken{.sent_at = asked->outcome.sent_at};
  Standing& standing = taken.standing;
  standing.turn_may_help = true;
  if (rows.empty()) co_return taken;
  const std::int64_t server_now = rows.number(0, 0);
  standing.waits = !rows.null(0, 4);
  standing.holds = !rows.null(0, 1) && claim_from_bytes(rows.bytes(0, 1)) == claim.id;
  InTheWay& found = standing.in_the_way;
  if (!rows.null(0, 1)) {
    found.expires = rows.number(0, 2);
    found.busy.token = static_cast<std::uint64_t>(rows.number(0, 6));
    found.busy.holder = rows.bytes(0, 7);
  } else if (!rows.null(0, 3)) {
    found.expires = rows.number(0, 3);
  }
  found.busy.rank = static_cast<std::uint64_t>(rows.number(0, 5));
  if (found.expires) {
    found.busy.expires_in = Duration(std::max<std::int64_t>(*found.expires - server_now, 0));
    standing.turn_may_help = *found.expires <= server_now || rows.number(0, 8) == 1;
  }
  co_return taken;
}

// ---- Giving back -------------------------------------------------------------------------------

Task<Result<bool>> ServerTable::release_by(SqlStatement statement, bool& repeated,
                                           Deadline deadline, Urgency urgency) {
  std::vector<SqlStatement> statements;
  statements.push_back(std::move(statement));
  const Result<Asked> asked =
      co_await ask(std::move(statements), deadline, std::stop_token(), urgency);
  if (!asked) co_return asked.failure();
  repeated = repeated || asked->repeated;
  if (asked->repeated) let_own_look();
  const SqlRows& answer = asked->outcome.results.at(0);
  tell_own(answer);
  co_return answer.affected > 0;
}

void ServerTable::tell_own(const SqlRows& winner) {
  // By its claim: the number of this client may be another one by now.
  if (winner.empty() || !server_.on_wake) return;
  const Given given{token_from(winner.number(0, 2)), Duration(winner.number(0, 3))};
  server_.on_wake(claim_from_bytes(winner.bytes(0, 1)), given);
}

void ServerTable::let_own_look() {
  if (server_.on_deaf) server_.on_deaf();
}

Task<Result<bool>> ServerTable::release(const Claim& claim, Deadline deadline, bool holds,
                                        Urgency urgency) {
  const Key key = key_of(claim.name);
  const bool has_queued = queued_.erase(claim.id) > 0;
  bool repeated = false;
  if (claim.mode == Mode::exclusive && (holds || !has_queued)) {
    const Dialect& sql = server_.dialect();
    const bool moving = moves_.moving(key.key, runtime_.now());
    // Where this claim had to wait, others are likely to wait, too.
    for (const bool to_next : {has_queued, !has_queued}) {
      SqlStatement statement;
      statement.text = to_next ? sql.pass_on : moving ? sql.free_moving : sql.free;
      statement.values.reserve(4);
      statement.values.emplace_back(key.key);
      statement.values.emplace_back(to_value(claim.id));
      if (to_next) {
        statement.values.emplace_back(std::int64_t{Turn::kProvisionalTtl.count()});
        statement.values.emplace_back(server_.process());
      }
      const Result<bool> done =
          co_await release_by(std::move(statement), repeated, deadline, urgency);
      if (!done || *done) co_return done;
    }
  }
  Turn::Ended ended = Turn::Ended::nothing;
  const auto decide = [&](Turn& turn) {
    ended = turn.release(claim.id);
    return ended != Turn::Ended::nothing;
  };
  Decide decision = std::ref(decide);
  const Result<Turned> turned = co_await take_turn(key, claim.id, false, std::move(decision),
                                                   deadline, std::stop_token(), urgency);
  if (!turned) co_return turned.failure();
  // Nothing there the second time: the first may have ended it.
  if (repeated || turned->repeated) co_return true;
  co_return turned->found&& ended == Turn::Ended::hold;
}

Task<Result<bool>> ServerTable::evict(const Name& name, Token token, Deadline deadline) {
  bool evicted = false;
  const auto decide = [&](Turn& turn) { return evicted = turn.evict(token); };
  Decide decision = std::ref(decide);
  const Result<Turned> turned =
      co_await take_turn(key_of(name), ClaimId(), false, std::move(decision), deadline,
                         std::stop_token(), Urgency::urgent);
  if (!turned) co_return turned.failure();
  co_return turned->repeated || (turned->found && evicted);
}

// ---- Renewing ----------------------------------------------------------------------------------

Task<bool> ServerTable::renew_together(std::span<const Hold> holds,
                                       RenewalRequests::Outcomes outcomes, Deadline deadline) {
  const Dialect& sql = server_.dialect();
  std::vector<SqlStatement> statements;
  for (const Hold& hold : holds) {
    const Claim& claim = hold.claim;
    statements.push_back({claim.mode == Mode::exclusive ? sql.renew_owner : sql.renew_holder,
                          {key_of(claim.name).key, to_value(claim.id),
                           std::int64_t{claim.ttl.count()}, to_row(hold.token)}});
  }
  const Result<Asked> asked =
      co_await requests_.ask(server_.renewals(), std::move(statements), deadline);
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (!asked) {
      outcomes[i] = asked.failure();
    } else if (asked->outcome.results.at(i).affected == 1) {
      outcomes[i] = Grant{holds[i].token, asked->outcome.sent_at, holds[i].claim.ttl};
    } else {
      outcomes[i] = no_longer_held(holds[i].claim.name);
    }
  }
  co_return asked.ok();
}

// ---- Cleaning ----------------------------------------------------------------------------------

void ServerTable::clean_in_time() {
  const BootTime now = runtime_.now();
  // Not all clients at once, nor one that lives for a moment.
  if (!clean_at_) clean_at_ = now + runtime_.jitter(kCleanEvery, 0.9);
  if (now < *clean_at_) return;
  clean_at_ = now + runtime_.jitter(kCleanEvery);
  background_.spawn(clean());
}

Task<void> ServerTable::clean() {
  std::vector<SqlStatement> statements;
  for (const std::string& text : server_.dialect().clean) {
    statements.push_back({text, {std::int64_t{kLongDead.count()}}});
  }
  const Deadline deadline = Deadline::at(runtime_.now() + std::chrono::seconds(10));
  // If it fails, somebody will do it another time.
  static_cast<void>(co_await ask(std::move(statements), deadline, background_.stop_token()));
}

}  // namespace holdfast::internal::table
