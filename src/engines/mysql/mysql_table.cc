#include "engines/mysql/mysql_table.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/unreachable_instead_of_unknown.h"
#include "engines/kit/failures.h"
#include "engines/mysql/lock_document.h"
#include "engines/mysql/record_sql.h"
#include "engines/mysql/table_sql.h"
#include "engines/table/record_requests.h"

namespace holdfast::internal::mysql {

using table::Given;
using table::Key;
using table::Standing;
using table::Taken;
using table::to_value;
using table::Turn;

namespace {

// A claim's standing, by the answer to `look`.
Taken standing_in(const SqlRows& rows, const Claim& claim) {
  Taken taken;
  Standing& standing = taken.standing;
  standing.turn_may_help = true;
  if (rows.empty()) return taken;
  const std::int64_t now = rows.number(0, kLookNow);
  standing.last_token = table::token_from(rows.number(0, kLookToken));
  standing.waits = !rows.null(0, kLookPlace);
  Busy& busy = standing.in_the_way.busy;
  busy.rank =
      static_cast<std::uint64_t>(rows.number(0, standing.waits ? kLookPlace : kLookWaiting));
  bool clock_was_set_back = false;
  const auto see = [&](const ClaimId& holder, std::int64_t token, std::int64_t expires,
                       std::int64_t ttl, const std::string& label) {
    std::optional<std::int64_t>& first = standing.in_the_way.expires;
    first = std::min(first.value_or(INT64_MAX), expires);
    busy.token = static_cast<std::uint64_t>(token);
    busy.holder = label;
    standing.holds = standing.holds || holder == claim.id;
    clock_was_set_back = clock_was_set_back || expires > now + ttl;
  };
  if (!rows.null(0, kLookOwner)) {
    see(claim_from_bytes(rows.bytes(0, kLookOwner)), rows.number(0, kLookToken),
        rows.number(0, kLookExpires), rows.number(0, kLookTtl), rows.bytes(0, kLookLabel));
  }
  for (const table::HolderRow& each : holders_from(rows.bytes(0, kLookHolders))) {
    see(each.claim, each.token, each.expires, each.ttl, each.label.value_or(""));
  }
  if (const std::optional<std::int64_t> expires = standing.in_the_way.expires) {
    busy.expires_in = Duration(std::max<std::int64_t>(*expires - now, 0));
    standing.turn_may_help = *expires <= now || clock_was_set_back;
  }
  return taken;
}

}  // namespace

MysqlTable::MysqlTable(Runtime& runtime, Settings settings)
    : runtime_(runtime),
      prefix_(settings.prefix),
      database_(runtime, std::move(settings)),
      records_(runtime, record_sql(), prefix_,
               table::record_requests(runtime, database_.calls(), database_,
                                      database_.settings().request_timeout)),
      chain_(runtime, database_),
      renewing_(runtime, 500,
                [this](std::span<const Hold> holds, Outcomes outcomes, Deadline deadline) {
                  return renew_some(holds, outcomes, deadline);
                }),
      background_(runtime) {}

void MysqlTable::stop() {
  background_.stop();
  background_.abandon();
  database_.close();
}

Key MysqlTable::key_of(const Name& name) const { return Key(prefix_ + name.bytes()); }

Task<Result<MysqlTable::Asked>> MysqlTable::ask(std::vector<SqlStatement> statements,
                                                const Call& call) {
  return database_.requests().ask(database_.calls(), std::move(statements), call.deadline,
                                  call.stop, call.urgency);
}

// ---- Turns -------------------------------------------------------------------------------------

Task<Result<MysqlTable::Turned>> MysqlTable::take_turn(Key key, bool make, Decide decide,
                                                       Call call) {
  constexpr Duration kPause = std::chrono::microseconds(200);
  constexpr int kMaxDoublings = 6;
  Turned turned;
  for (int attempt = 0;; ++attempt) {
    std::vector<SqlStatement> question(1, in_order(table_sql().find, {key.key}));
    const Result<Asked> read = co_await ask(std::move(question), call);
    if (!read) co_return turned.repeated ? table::unknown(read.failure()) : read.failure();
    if (attempt == 0) turned.sent_at = read->outcome.sent_at;
    const SqlRows& rows = read->outcome.results.at(0);
    if (rows.empty() && !make) co_return turned;
    if (rows.empty()) {
      std::vector<SqlStatement> insert(1, in_order(table_sql().make, {key.key, key.full_name}));
      const Result<Asked> made = co_await ask(std::move(insert), call);
      if (!made) co_return made.failure();
      continue;
    }
    LockDocument document(rows, 0);
    turned.found = true;
    const bool only_dead = document.drop_dead_front();
    Turn turn(document, document.row(), document.now(), document.now() / 1000);
    const bool agreed = only_dead || decide(turn);
    turned.last_token = table::token_from(document.row().token);
    if (!agreed || !document.changed()) co_return turned;
    std::vector<SqlValue> values = document.values();
    values.insert(values.begin(), key.key);
    std::vector<SqlStatement> write(1, in_order(table_sql().write, values));
    const Result<Asked> written = co_await ask(std::move(write), call);
    if (!written) co_return turned.repeated ? table::unknown(written.failure()) : written.failure();
    turned.repeated = turned.repeated || (written->repeated && !only_dead);
    if (written->outcome.results.at(0).affected == 1) {
      if (only_dead) continue;
      turned.version = written->outcome.results.at(0).id;
      wake(turn, read->outcome.sent_at);
      chain_.look_soon(key.key);
      co_return turned;
    }
    // Somebody else was faster: try again in a moment.
    const Duration longest = kPause * (1 << std::min(attempt, kMaxDoublings));
    const BootTime again = runtime_.now() + runtime_.jitter(longest / 2, 0.99);
    static_cast<void>(co_await sleep_until(runtime_, again));
  }
}

void MysqlTable::wake(Turn& turn, BootTime read_at) {
  // A grant counts from when the row was read, but its winner may count it from any moment until now.
  const Duration spent = runtime_.now() - read_at;
  for (table::Wake& wake : turn.take_wakes()) {
    if (!wake.given) continue;
    wake.given->ttl -= spent;
    chain_.on_wake(wake.claim, wake.given->ttl > Duration::zero() ? wake.given : std::nullopt);
  }
}

// ---- Acquiring ---------------------------------------------------------------------------------

Task<Result<Taken>> MysqlTable::take(const Claim& claim, Deadline deadline, std::stop_token stop) {
  const Key key = key_of(claim.name);
  const Call call{deadline, std::move(stop)};
  const std::int64_t ttl = claim.ttl.count();
  const std::string label = cut_label(claim.label);
  Taken taken;
  // First the way of a lock that is free, then that of all others.
  for (const bool free : {true, false}) {
    std::vector<SqlStatement> statements;
    statements.push_back(
        free
            ? in_order(table_sql().take_free, {key.key, to_value(claim.id), ttl, label})
            : in_order(table_sql().take, {key.key, key.full_name, to_value(claim.id), ttl, label}));
    const Result<Asked> asked = co_await ask(std::move(statements), call);
    if (!asked) co_return asked.failure();
    const std::uint64_t token = asked->outcome.results.at(0).id;
    if (free) taken.sent_at = asked->outcome.sent_at;
    if (token == 0) continue;
    taken.given = Given{Token(token), claim.ttl};
    break;
  }
  co_return taken;
}

Task<Result<Taken>> MysqlTable::acquire(const Claim& claim, bool queue, Deadline deadline,
                                        std::stop_token stop) {
  Call call{deadline, std::move(stop)};
  if (queue && claim.mode == Mode::exclusive && !queued_.contains(claim.id)) {
    Result<Taken> taken = co_await queue_up(claim, call);
    if (!taken || taken->given || taken->in_turn) co_return taken;
  }
  // Others must see that it is alive as soon as they find it in the queue.
  if (queue) co_await chain_.take_name(claim.id, call.deadline);
  co_return co_await acquire_in_turn(claim, queue, std::move(call));
}

Task<Result<SqlOutcome>> MysqlTable::send_queueing(const Claim& claim, const Key& key,
                                                   const Call& call) {
  std::vector<SqlStatement> statements;
  statements.push_back(in_order(table_sql().queue,
                                {key.key, to_value(claim.id), bytes_of(claim.ttl.count()),
                                 entry_end(claim.mode, claim.permits), label_entry(claim.label)}));
  statements.push_back(
      in_order(table_sql().look_and_name, {key.key, to_value(claim.id), name_of(claim.id)}));
  const Deadline limit = database_.requests().limit_of(call.deadline);
  SqlOutcome outcome = co_await chain_.run(statements, limit);
  if (outcome.ok()) {
    const SqlRows& looked = outcome.results.at(1);
    chain_.took_name(claim.id);
    if (looked.empty() || looked.number(0, kLookNamed) != 1) chain_.want_name(claim.id);
    co_return outcome;
  }
  // Deadlocks and the like hit this request, too: it is tried again on another connection.
  chain_.want_name(claim.id);
  const bool may_have_run = outcome.error->may_have_run;
  statements.back() = in_order(table_sql().look, {key.key, to_value(claim.id)});
  Result<Asked> asked = co_await ask(std::move(statements), call);
  if (!asked) co_return may_have_run ? table::unknown(asked.failure()) : asked.failure();
  co_return std::move(asked->outcome);
}

Task<Result<Taken>> MysqlTable::queue_up(const Claim& claim, Call call) {
  const Key key = key_of(claim.name);
  const Result<SqlOutcome> sent = co_await send_queueing(claim, key, call);
  if (!sent) co_return sent.failure();
  // Nobody holds it, or no longer.
  const SqlRows& row = sent->results.at(1);
  Taken taken = standing_in(row, claim);
  if (!taken.standing.waits) co_return co_await take(claim, call.deadline, call.stop);
  queued_.insert(claim.id);
  taken.in_turn = !taken.standing.turn_may_help;
  std::optional<ClaimId> before;
  if (!row.null(0, kLookBefore)) before = claim_from_bytes(row.bytes(0, kLookBefore));
  const SqlRows& appended = sent->results.at(0);
  chain_.queued(key.key, claim.id, before, appended.affected == 1 ? appended.id : 0);
  taken.sent_at = sent->sent_at;
  co_return taken;
}

Task<Result<Taken>> MysqlTable::acquire_in_turn(const Claim& claim, bool queue, Call call) {
  Result<Taken> taken = Taken();
  bool stood = false;
  const auto decide = [&](Turn& turn) {
    stood = turn.waits(claim.id);
    taken = table::taken_from(turn.acquire(claim, cut_label(claim.label), queue), queue);
    return taken.ok();
  };
  Decide decision = std::ref(decide);
  const Result<Turned> turned =
      co_await take_turn(key_of(claim.name), true, std::move(decision), std::move(call));
  if (!turned) co_return turned.failure();
  if (!taken) co_return taken;
  taken->sent_at = turned->sent_at;
  taken->standing.last_token = turned->last_token;
  taken->in_turn = true;
  if (taken->standing.waits) {
    queued_.insert(claim.id);
    chain_.queued(key_of(claim.name).key, claim.id, std::nullopt, stood ? 0 : turned->version);
  }
  co_return taken;
}

Task<Result<Taken>> MysqlTable::look(const Claim& claim, Deadline deadline, std::stop_token stop) {
  std::vector<SqlStatement> statements(
      1, in_order(table_sql().look, {key_of(claim.name).key, to_value(claim.id)}));
  const Call call{deadline, std::move(stop)};
  const Result<Asked> asked = co_await ask(std::move(statements), call);
  if (!asked) co_return unreachable_instead_of_unknown(asked.failure());
  Taken taken = standing_in(asked->outcome.results.at(0), claim);
  taken.sent_at = asked->outcome.sent_at;
  co_return taken;
}

// ---- Giving back -------------------------------------------------------------------------------

Task<Result<bool>> MysqlTable::release_owner(const Claim& claim, const Key& key, bool& repeated,
                                             Call call) {
  const auto pass_on = [&] {
    return in_order(table_sql().pass_on,
                    {key.key, to_value(claim.id), std::int64_t{Turn::kProvisionalTtl.count()}});
  };
  // Where it had to wait, others do, too, most likely.
  if (chain_.has_name(claim.id)) {
    std::vector<SqlStatement> statements;
    statements.push_back(pass_on());
    statements.push_back(in_order(table_sql().give_name, {name_of(claim.id)}));
    const Deadline limit = database_.requests().limit_of(call.deadline);
    const SqlOutcome passed = co_await chain_.run(std::move(statements), limit);
    if (passed.ok() && passed.results.at(0).affected == 1) {
      chain_.gave_name(claim.id);
      co_return true;
    }
    // The next request finds out whether one without an answer was executed.
    if (!passed.ok()) repeated = passed.error->may_have_run;
  }
  for (const bool to_next : {false, true}) {
    std::vector<SqlStatement> statements;
    statements.push_back(to_next ? pass_on()
                                 : in_order(table_sql().free, {key.key, to_value(claim.id)}));
    const Result<Asked> asked = co_await ask(std::move(statements), call);
    if (!asked) co_return repeated ? table::unknown(asked.failure()) : asked.failure();
    repeated = repeated || asked->repeated;
    chain_.look_soon(key.key);
    if (asked->outcome.results.at(0).affected == 1) co_return true;
  }
  co_return false;
}

Task<Result<bool>> MysqlTable::release(const Claim& claim, Deadline deadline, bool holds,
                                       Urgency urgency) {
  const Key key = key_of(claim.name);
  const bool has_queued = queued_.erase(claim.id) > 0;
  const Call call{deadline, std::stop_token(), urgency};
  bool repeated = false;
  if (claim.mode == Mode::exclusive && (holds || !has_queued)) {
    const Result<bool> done = co_await release_owner(claim, key, repeated, call);
    if (!done || *done) {
      co_await chain_.give_name(claim.id, deadline);
      co_return done;
    }
  }
  Turn::Ended ended = Turn::Ended::nothing;
  const auto decide = [&](Turn& turn) {
    ended = turn.release(claim.id);
    return ended != Turn::Ended::nothing;
  };
  Decide decision = std::ref(decide);
  const Result<Turned> turned = co_await take_turn(key, false, std::move(decision), call);
  // The one behind it wakes up, and sees that it has left.
  co_await chain_.give_name(claim.id, deadline);
  if (!turned) co_return turned.failure();
  // Nothing there the second time: the first may have ended it.
  co_return repeated || turned->repeated || (turned->found && ended == Turn::Ended::hold);
}

Task<Result<bool>> MysqlTable::evict(const Name& name, Token token, Deadline deadline) {
  bool evicted = false;
  const auto decide = [&](Turn& turn) { return evicted = turn.evict(token); };
  Decide decision = std::ref(decide);
  const Call call{deadline, std::stop_token(), Urgency::urgent};
  const Result<Turned> turned = co_await take_turn(key_of(name), false, std::move(decision), call);
  if (!turned) co_return turned.failure();
  co_return turned->repeated || (turned->found && evicted);
}

// ---- Renewing ----------------------------------------------------------------------------------

std::vector<MysqlTable::Group> MysqlTable::groups_of(std::span<const Hold> holds) const {
  std::map<std::int64_t, Group> by_ttl;
  std::vector<Group> groups;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const Claim& claim = holds[i].claim;
    Group& group =
        claim.mode == Mode::exclusive ? by_ttl[claim.ttl.count()] : groups.emplace_back();
    group.members.push_back(i);
    group.renewals.push_back(
        {key_of(claim.name).key, to_value(claim.id), table::to_row(holds[i].token)});
  }
  for (auto& [ttl, group] : by_ttl) groups.push_back(std::move(group));
  return groups;
}

Task<bool> MysqlTable::renew_some(std::span<const Hold> holds, Outcomes outcomes,
                                  Deadline deadline) {
  const std::vector<Group> groups = groups_of(holds);
  std::vector<SqlStatement> statements;
  for (const Group& group : groups) {
    const Claim& first = holds[group.members.front()].claim;
    const std::int64_t ttl = first.ttl.count();
    if (first.mode == Mode::exclusive) {
      statements.push_back(renew_owners(group.renewals, ttl));
    } else {
      const Renewal& one = group.renewals.front();
      statements.push_back(in_order(table_sql().renew_holder,
                                    {one.key, one.claim, bytes_of(ttl), ttl, bytes_of(one.token)}));
    }
  }
  const Result<Asked> asked =
      co_await database_.requests().ask(database_.renewals(), std::move(statements), deadline);
  if (!asked) {
    for (std::optional<Result<Grant>>& each : outcomes) each = asked.failure();
    co_return false;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const SqlRows& renewed = asked->outcome.results.at(g);
    if (renewed.affected != group.members.size()) {
      co_await find_lost(group, holds, asked->outcome.sent_at, outcomes, deadline);
      continue;
    }
    std::unordered_set<ClaimId> nameless;
    for (const std::size_t i : group.members) {
      const Claim& claim = holds[i].claim;
      outcomes[i] = Grant{holds[i].token, asked->outcome.sent_at, claim.ttl};
      if (renewed.id == 1 && !chain_.has_name(claim.id)) nameless.insert(claim.id);
    }
    if (!nameless.empty()) background_.spawn(take_names(group.renewals, std::move(nameless)));
  }
  co_return true;
}

Task<void> MysqlTable::find_lost(const Group& group, std::span<const Hold> holds, BootTime sent_at,
                                 Outcomes outcomes, Deadline deadline) {
  std::unordered_map<ClaimId, std::int64_t> held;  // with their tokens
  std::optional<Failure> failure;
  if (group.members.size() > 1) {
    std::vector<SqlStatement> question(1, held_owners(group.renewals));
    const Result<Asked> rows =
        co_await database_.requests().ask(database_.renewals(), std::move(question), deadline);
    if (!rows) failure = unreachable_instead_of_unknown(rows.failure());
    for (std::size_t row = 0; rows && row < rows->outcome.results.at(0).rows.size(); ++row) {
      const SqlRows& owners = rows->outcome.results.at(0);
      held.emplace(claim_from_bytes(owners.bytes(row, 0)), owners.number(row, 1));
    }
  }
  for (const std::size_t i : group.members) {
    const auto found = held.find(holds[i].claim.id);
    if (failure) {
      outcomes[i] = *failure;
    } else if (found != held.end() && found->second == table::to_row(holds[i].token)) {
      outcomes[i] = Grant{holds[i].token, sent_at, holds[i].claim.ttl};
    } else {
      outcomes[i] = no_longer_held(holds[i].claim.name);
    }
  }
}

Task<void> MysqlTable::take_names(std::vector<Renewal> renewals, std::unordered_set<ClaimId> ours) {
  const Deadline deadline = database_.requests().limit_of(Deadline::never());
  std::vector<SqlStatement> question(1, awaited_owners(renewals));
  const Result<Asked> asked = co_await database_.requests().ask(
      database_.renewals(), std::move(question), deadline, background_.stop_token());
  if (!asked || !co_await chain_.listen(deadline, background_.stop_token())) co_return;
  const SqlRows& owners = asked->outcome.results.at(0);
  for (std::size_t i = 0; i < owners.rows.size(); ++i) {
    const ClaimId claim = claim_from_bytes(owners.bytes(i, 0));
    if (ours.contains(claim)) co_await chain_.take_name(claim, deadline);
  }
}

// ---- Showing -----------------------------------------------------------------------------------

Task<Result<LockInfo>> MysqlTable::inspect(const Name& name, Deadline deadline) {
  std::vector<SqlStatement> statements(1, in_order(table_sql().find, {key_of(name).key}));
  const Call call{deadline, std::stop_token(), Urgency::urgent};
  const Result<Asked> asked = co_await ask(std::move(statements), call);
  if (!asked) co_return unreachable_instead_of_unknown(asked.failure());
  const SqlRows& rows = asked->outcome.results.at(0);
  if (rows.empty()) co_return LockInfo{.name = name};
  LockDocument document(rows, 0);
  co_return Turn(document, document.row(), document.now()).describe(name);
}

Task<Result<std::vector<LockInfo>>> MysqlTable::list(const std::string& prefix, Deadline deadline) {
  std::vector<SqlStatement> statements(1, in_order(table_sql().list, {}));
  // People look when a lock is contended: not behind all of its waiters.
  const Call call{deadline, std::stop_token(), Urgency::urgent};
  const Result<Asked> asked = co_await ask(std::move(statements), call);
  if (!asked) co_return unreachable_instead_of_unknown(asked.failure());
  const SqlRows& rows = asked->outcome.results.at(0);
  const std::string wanted = prefix_ + prefix;
  std::vector<LockInfo> all;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const std::string full = Key::name_of(rows.bytes(i, kName), rows.at(i, kFullName));
    if (!full.starts_with(wanted)) continue;
    const std::string name = full.substr(prefix_.size());
    if (Name::problem_with(name)) continue;
    LockDocument document(rows, i);
    LockInfo info = Turn(document, document.row(), document.now()).describe(Name(name));
    if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
  }
  std::ranges::sort(all, {}, &LockInfo::name);
  co_return all;
}

}  // namespace holdfast::internal::mysql
