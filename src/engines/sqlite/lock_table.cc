#include "engines/sqlite/lock_table.h"

#include <algorithm>

#include "base/process.h"
#include "engines/sqlite/lock_rows.h"

namespace holdfast::internal {

namespace {

// A waiter looks again this often even if nobody tells it anything: a message can be lost.
constexpr Duration kLookAgain = std::chrono::seconds(1);
// When a holder expires, its waiters look one after the other, the first in line first.
constexpr Duration kStagger = std::chrono::milliseconds(2);

}  // namespace

LockTable::LockTable(Runtime& runtime, sqlite::Database& database, const Liveness& liveness,
                     std::string label)
    : runtime_(runtime),
      database_(database),
      liveness_(liveness),
      label_(std::move(label)),
      sql_(std::make_unique<Statements>(database)) {}

LockTable::~LockTable() = default;

// ---- Acquiring ---------------------------------------------------------------------------------

Answer LockTable::acquire(const Claim& claim, bool queue) {
  register_process();
  if (claim.mode == Mode::exclusive) {
    if (const std::optional<Grant> grant = acquire_at_once(claim)) return *grant;
  }
  return acquire_in_turn(claim, queue);
}

std::optional<Grant> LockTable::acquire_at_once(const Claim& claim) {
  const BootTime now = runtime_.now();
  const ProcessId process = claim.outlives_process ? 0 : liveness_.mine().id;
  auto row = claim.label == label_
                 ? sql_->take_free.run(claim.name.bytes(), claim.id.bytes(), process, to_row(now),
                                       to_row(now + claim.ttl), nullptr)
                 : sql_->take_free.run(claim.name.bytes(), claim.id.bytes(), process, to_row(now),
                                       to_row(now + claim.ttl), std::string_view(claim.label));
  if (!row.next()) return std::nullopt;
  const Token token(static_cast<std::uint64_t>(row.number(0)));
  row.finish();  // Only now is it committed.
  return Grant{token, now, claim.ttl};
}

Answer LockTable::acquire_in_turn(const Claim& claim, bool queue) {
  sqlite::Transaction transaction(database_);
  // Only now: getting in here may have taken a while, and others are granted from it.
  const BootTime now = runtime_.now();
  Row row = load(claim.name);
  const Row before = row;
  drop_ended(row, now);

  if (const std::optional<Grant> again = repeated(row, claim, now)) {
    save(row);
    transaction.commit();
    return *again;
  }
  if (claim.mode == Mode::permit && row.permits != claim.permits) {
    const bool in_use = row.sharing > 0 && row.sharing_mode == Mode::permit;
    if (in_use || sql_->permit_waiter.run(row.id, to_row(Mode::permit)).next()) {
      return Failure(Code::invalid_argument, "'" + claim.name.display() + "' is a semaphore of " +
                                                 std::to_string(row.permits) + " permits, not of " +
                                                 std::to_string(claim.permits) +
                                                 "; all its users must agree");
    }
    row.permits = claim.permits;
  }

  // Those who came before us are served first, also if their turn came just now.
  std::optional<Grant> mine = serve(row, &claim.id, now);
  const bool queued = !mine && place_of(row, claim.id).has_value();
  if (!mine && !queued && row.waiting == 0 && admits(row.holders(), claim.mode, claim.permits)) {
    const Queued self{
        .claim = claim.id,
        .mode = claim.mode,
        .permits = claim.permits,
        .ttl = claim.ttl,
        .process = liveness_.mine().id,
        .outlives = claim.outlives_process,
        .label = claim.label == label_ ? std::nullopt : std::optional<std::string>(claim.label)};
    mine = grant(row, self, claim.ttl, now);
  }
  if (!mine && queue && !queued) enqueue(row, claim, now);
  if (!mine) drop_dead_before(row, claim.id);
  Answer answer = mine ? Answer(*mine) : Answer(waiting_for(row, claim, now));
  // A dead waiter that left and we who came add up to nothing in the row, but not in the queue.
  if (row != before) save(row);
  transaction.commit();
  return answer;
}

std::optional<Grant> LockTable::repeated(Row& row, const Claim& claim, BootTime now) {
  if (row.owner == claim.id) {
    row.expires = std::max(row.expires, to_row(now + claim.ttl));
    return Grant{Token(static_cast<std::uint64_t>(row.token)), now, claim.ttl};
  }
  if (row.sharing == 0) return std::nullopt;
  std::int64_t token = 0;
  {
    auto holder = sql_->holder_of_claim.run(row.id, claim.id.bytes());
    if (!holder.next()) return std::nullopt;
    token = holder.number(0);
  }
  sql_->renew_holder
      .run(claim.name.bytes(), claim.id.bytes(), to_row(now + claim.ttl), to_row(now), token)
      .finish();
  return Grant{Token(static_cast<std::uint64_t>(token)), now, claim.ttl};
}

void LockTable::enqueue(Row& row, const Claim& claim, BootTime now) {
  const auto add = [&](const auto& label) {
    auto added = sql_->add_waiter.run(row.id, claim.id.bytes(), to_row(claim.mode),
                                      std::int64_t(claim.permits), std::int64_t(claim.ttl.count()),
                                      liveness_.mine().id, std::int64_t(claim.outlives_process),
                                      to_row(now), label);
    added.next();
    places_[claim.id] = added.number(0);
    added.finish();
  };
  if (claim.label == label_) {
    add(nullptr);
  } else {
    add(std::string_view(claim.label));
  }
  ++row.waiting;
}

void LockTable::drop_dead_before(Row& row, const ClaimId& id) {
  const std::optional<std::int64_t> place = place_of(row, id);
  if (!place) return;
  // Else nobody could be watched in their stead, and we would have to look again and again.
  for (;;) {
    ProcessId process = 0;
    {
      auto before = sql_->process_before.run(row.id, *place, liveness_.mine().id);
      if (before.next()) process = before.number(0);
    }
    if (process == 0 || !gone(process)) return;
    row.waiting -= sql_->remove_waiters_of.run(row.id, process).finish();
  }
}

std::optional<std::int64_t> LockTable::place_of(const Row& row, const ClaimId& id) {
  const auto place = places_.find(id);
  if (place == places_.end()) return std::nullopt;
  if (!sql_->waiter_at.run(row.id, place->second, id.bytes()).next()) return std::nullopt;
  return place->second;
}

Waiting LockTable::waiting_for(const Row& row, const Claim& claim, BootTime now) {
  Waiting waiting{.look_at = now + kLookAgain};
  const std::int64_t place = place_of(row, claim.id).value_or(INT64_MAX);
  {
    auto before = sql_->waiters_before.run(row.id, place);
    before.next();
    waiting.busy.rank = static_cast<std::uint64_t>(before.number(0));
  }
  const ProcessId me = liveness_.mine().id;
  std::vector<ProcessId> ahead;
  {
    auto before = sql_->process_before.run(row.id, place, me);
    if (before.next()) ahead.push_back(before.number(0));
  }
  // Whoever waits behind another process watches that one: it takes over, or dies and tells.
  const bool watch_holders = ahead.empty();
  std::int64_t soonest = INT64_MAX;
  const auto see_holder = [&](ProcessId process, std::int64_t token, std::int64_t expires,
                              const std::optional<std::string>& label) {
    soonest = std::min(soonest, expires);
    waiting.busy.token = static_cast<std::uint64_t>(token);
    waiting.busy.holder = label ? *label : process_label(process);
    if (watch_holders) ahead.push_back(process);
  };
  if (row.owner) {
    see_holder(row.process, row.token, row.expires, row.label);
  } else {
    auto holder = sql_->holders.run(row.id);
    while (holder.next()) {
      see_holder(holder.number(2), holder.number(1), holder.number(4), text_at(holder, 5));
    }
  }
  if (soonest != INT64_MAX) {
    waiting.busy.expires_in = Duration(std::max<std::int64_t>(soonest - to_row(now), 0));
    const auto turn = static_cast<Duration::rep>(waiting.busy.rank);
    waiting.look_at = std::min(waiting.look_at, moment_from(soonest) + turn * kStagger);
  }
  std::sort(ahead.begin(), ahead.end());
  ahead.erase(std::unique(ahead.begin(), ahead.end()), ahead.end());
  for (const ProcessId process : ahead) {
    if (process != 0 && process != me) waiting.ahead.push_back(process_info(process));
  }
  return waiting;
}

// ---- Serving the queue -------------------------------------------------------------------------

std::optional<Grant> LockTable::serve(Row& row, const ClaimId* self, BootTime now) {
  std::optional<Grant> mine;
  bool granted_together = false;
  while (row.waiting > 0) {
    const std::optional<Queued> next = head(row);
    if (!next) {  // The count is only a hint for the fast path; the rows decide.
      row.waiting = 0;
      break;
    }
    const bool is_self = self && next->claim == *self;
    const bool dead = !is_self && gone(next->process);
    if (!dead && !admits(row.holders(), next->mode, next->permits)) break;
    sql_->remove_waiter.run(row.id, next->seq).finish();
    --row.waiting;
    if (dead) continue;
    const Duration ttl = is_self ? next->ttl : std::min(next->ttl, kProvisionalTtl);
    const Grant given = grant(row, *next, ttl, now);
    granted_together = granted_together || next->mode != Mode::exclusive;
    if (is_self) {
      mine = given;
    } else {
      wakes_.push_back({next->process, next->claim, given});
    }
  }
  // One of several holders is new: the first in line must learn whom to watch.
  if (granted_together && row.waiting > 0) {
    const std::optional<Queued> next = head(row);
    if (next && !(self && next->claim == *self)) {
      wakes_.push_back({next->process, next->claim, std::nullopt});
    }
  }
  return mine;
}

std::optional<LockTable::Queued> LockTable::head(const Row& row) {
  auto first = sql_->head.run(row.id);
  if (!first.next()) return std::nullopt;
  return Queued{.seq = first.number(0),
                .claim = claim_from(first.bytes(1)),
                .mode = mode_from(first.number(2)),
                .permits = static_cast<std::uint32_t>(first.number(3)),
                .ttl = Duration(first.number(4)),
                .process = first.number(5),
                .outlives = first.number(6) != 0,
                .label = text_at(first, 7)};
}

Grant LockTable::grant(Row& row, const Queued& winner, Duration ttl, BootTime now) {
  ++row.token;
  const ProcessId process = winner.outlives ? 0 : winner.process;
  if (winner.mode == Mode::exclusive) {
    row.owner = winner.claim;
    row.process = process;
    row.since = to_row(now);
    row.expires = to_row(now + ttl);
    row.label = winner.label;
  } else {
    const auto add = [&](const auto& label) {
      sql_->add_holder
          .run(row.id, winner.claim.bytes(), row.token, process, to_row(now), to_row(now + ttl),
               label)
          .finish();
    };
    if (winner.label) {
      add(std::string_view(*winner.label));
    } else {
      add(nullptr);
    }
    ++row.sharing;
    row.sharing_mode = winner.mode;
    if (winner.mode == Mode::permit) row.permits = winner.permits;
  }
  return Grant{Token(static_cast<std::uint64_t>(row.token)), now, ttl};
}

// ---- Who is gone -------------------------------------------------------------------------------

void LockTable::drop_ended(Row& row, BootTime now) {
  if (row.owner && ended(row.expires, row.process, now)) row.owner.reset();
  if (row.sharing == 0) return;
  std::vector<ClaimId> over;
  {
    auto holder = sql_->holders.run(row.id);
    while (holder.next()) {
      if (ended(holder.number(4), holder.number(2), now))
        over.push_back(claim_from(holder.bytes(0)));
    }
  }
  for (const ClaimId& claim : over) remove_holder(row, claim);
}

bool LockTable::ended(std::int64_t expires, ProcessId process, BootTime now) {
  return expires <= to_row(now) || gone(process);
}

bool LockTable::gone(ProcessId process) {
  if (process == 0 || process == liveness_.mine().id) return false;
  const ProcessInfo& info = process_info(process);
  // A row is removed only when its process is gone.
  return info.mark.id == 0 || !liveness_.may_live(info.mark);
}

const ProcessInfo& LockTable::process_info(ProcessId process) {
  constexpr std::size_t kMaxKnown = 4096;
  if (known_processes_.size() > kMaxKnown) known_processes_.clear();
  ProcessInfo& info = known_processes_[process];
  if (info.mark.id != 0) return info;
  auto row = sql_->process.run(process);
  if (row.next()) {
    info = ProcessInfo{.mark = {process, row.number(0), row.number(1)},
                       .pid = row.number(2),
                       .started = row.number(3),
                       .pid_space = row.number(4)};
  }
  return info;
}

std::string LockTable::process_label(ProcessId process) {
  if (process == 0) return "a detached handle";
  auto row = sql_->process.run(process);
  return row.next() ? std::string(row.bytes(5)) : "a process that has ended";
}

void LockTable::register_process() {
  if (registered_) return;
  const ProcessIdentity identity = this_process();
  const ProcessMark& mark = liveness_.mine();
  sql_->add_process
      .run(mark.id, mark.device, mark.inode, identity.pid, identity.started, identity.pid_space,
           std::string_view(label_))
      .finish();
  registered_ = true;
  // Whoever was killed left its row behind.
  std::vector<ProcessId> dead;
  {
    auto all = sql_->processes.run();
    while (all.next()) {
      const ProcessMark other{all.number(0), all.number(1), all.number(2)};
      if (!liveness_.may_live(other)) dead.push_back(other.id);
    }
  }
  for (const ProcessId process : dead) sql_->remove_process.run(process).finish();
  dead_ = std::move(dead);
}

void LockTable::forget_process() {
  if (registered_) sql_->remove_process.run(liveness_.mine().id).finish();
  registered_ = false;
}

// ---- Giving back -------------------------------------------------------------------------------

bool LockTable::release(const Claim& claim) {
  // Whoever had to wait has others behind it, most likely: then the short way is a detour.
  if (claim.mode == Mode::exclusive && !places_.contains(claim.id) &&
      sql_->free_held.run(claim.name.bytes(), claim.id.bytes()).finish() == 1) {
    return true;
  }
  return release_in_turn(claim);
}

bool LockTable::release_in_turn(const Claim& claim) {
  sqlite::Transaction transaction(database_);
  const BootTime now = runtime_.now();
  std::optional<Row> row = find(claim.name);
  if (!row) {
    places_.erase(claim.id);
    return false;
  }
  bool held = true;
  if (row->owner == claim.id) {
    row->owner.reset();
  } else if (!remove_holder(*row, claim.id)) {
    held = false;
    if (!remove_waiter(*row, claim.id)) {
      places_.erase(claim.id);
      return false;
    }
  }
  drop_ended(*row, now);
  serve(*row, nullptr, now);
  save(*row);
  transaction.commit();
  places_.erase(claim.id);
  return held;
}

bool LockTable::remove_holder(Row& row, const ClaimId& id) {
  if (row.sharing == 0) return false;
  if (sql_->remove_holder.run(row.id, id.bytes()).finish() == 0) return false;
  --row.sharing;
  return true;
}

bool LockTable::remove_waiter(Row& row, const ClaimId& id) {
  const std::optional<std::int64_t> place = place_of(row, id);
  if (!place) return false;
  sql_->remove_waiter.run(row.id, *place).finish();
  --row.waiting;
  // Whoever stood behind us was watching us.
  auto next = sql_->next_waiter.run(row.id, *place);
  if (next.next()) wakes_.push_back({next.number(0), claim_from(next.bytes(1)), std::nullopt});
  return true;
}

// ---- Keeping -----------------------------------------------------------------------------------

std::vector<std::optional<Grant>> LockTable::renew(std::span<const Hold> holds) {
  std::vector<std::optional<Grant>> renewed;
  renewed.reserve(holds.size());
  std::optional<sqlite::Transaction> transaction;
  if (holds.size() > 1) transaction.emplace(database_);
  const BootTime now = runtime_.now();
  for (const Hold& hold : holds) {
    const Claim& claim = hold.claim;
    sqlite::Statement& statement =
        claim.mode == Mode::exclusive ? sql_->renew_owner : sql_->renew_holder;
    const int changed = statement
                            .run(claim.name.bytes(), claim.id.bytes(), to_row(now + claim.ttl),
                                 to_row(now), to_row(hold.token))
                            .finish();
    renewed.push_back(changed == 1 ? std::optional(Grant{hold.token, now, claim.ttl})
                                   : std::nullopt);
  }
  if (transaction) transaction->commit();
  return renewed;
}

bool LockTable::detach(const Hold& hold) {
  const Claim& claim = hold.claim;
  sqlite::Statement& statement =
      claim.mode == Mode::exclusive ? sql_->detach_owner : sql_->detach_holder;
  return statement.run(claim.name.bytes(), claim.id.bytes(), to_row(hold.token)).finish() == 1;
}

bool LockTable::evict(const Name& name, Token token) {
  sqlite::Transaction transaction(database_);
  const BootTime now = runtime_.now();
  std::optional<Row> row = find(name);
  if (!row) return false;
  const auto wanted = to_row(token);
  drop_ended(*row, now);
  if (row->owner && row->token == wanted) {
    row->owner.reset();
  } else {
    std::optional<ClaimId> victim;
    {
      auto holder = sql_->holders.run(row->id);
      while (holder.next()) {
        if (holder.number(1) == wanted) victim = claim_from(holder.bytes(0));
      }
    }
    if (!victim || !remove_holder(*row, *victim)) return false;
  }
  serve(*row, nullptr, now);
  save(*row);
  transaction.commit();
  return true;
}

}  // namespace holdfast::internal
