#include "engines/sqlite/lock_table.h"

#include <algorithm>

#include "base/process.h"
#include "engines/sqlite/lock_rows.h"

namespace holdfast::internal {

using table::Given;
using table::InTheWay;

namespace {

// A waiter looks again every half ttl, within these limits, even if nobody tells it anything: a message can be
// lost.
constexpr Duration kLookOften = std::chrono::milliseconds(50);
constexpr Duration kLookSeldom = std::chrono::seconds(1);
// When a holder expires, its waiters look one after the other, the first in line first.
constexpr Duration kStagger = std::chrono::milliseconds(2);

}  // namespace

LockTable::LockTable(Runtime& runtime, sqlite::Database& database, const Liveness& liveness,
                     Prepared prepared, std::string label)
    : runtime_(runtime),
      database_(database),
      liveness_(liveness),
      prepared_(std::move(prepared)),
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
  const auto take = [&](const auto& label) {
    return sql_->take_free.run(claim.name.bytes(), claim.id.bytes(), process, to_row(now),
                               to_row(now + claim.ttl), label, min_token());
  };
  auto row = names_itself(claim) ? take(nullptr) : take(std::string_view(claim.label));
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
  const table::LockRow before = row;
  RowsOf rows(*this, row.id);
  table::Turn turn(rows, row, to_row(now), min_token());
  table::Turn::Answer answer = turn.acquire(claim, label_for(claim), queue);
  if (const Failure* failure = std::get_if<Failure>(&answer)) return *failure;
  const Given* given = std::get_if<Given>(&answer);
  Answer result = given ? Answer(Grant{given->token, now, given->ttl})
                        : Answer(waiting_for(claim, std::move(std::get<InTheWay>(answer)), now));
  // A dead waiter that left and we who came add up to nothing in the row, but not in the queue.
  if (row != before) save(row);
  transaction.commit();
  keep_wakes(turn, now);
  return result;
}

Waiting LockTable::waiting_for(const Claim& claim, InTheWay found, BootTime now) {
  const Duration pace = std::clamp<Duration>(claim.ttl / 2, kLookOften, kLookSeldom);
  Waiting waiting{.busy = std::move(found.busy), .look_at = now + runtime_.jitter(pace)};
  for (const ProcessId process : found.ahead) waiting.ahead.push_back(process_info(process));
  if (found.expires) {
    const auto turn = static_cast<Duration::rep>(waiting.busy.rank);
    waiting.look_at = std::min(waiting.look_at, moment_from(*found.expires) + turn * kStagger);
  }
  return waiting;
}

bool LockTable::names_itself(const Claim& claim) const {
  // A hold that outlives its process outlives the process' label too.
  return claim.label == label_ && !claim.outlives_process;
}

std::int64_t LockTable::min_token() const {
  // The clock in microseconds: what was given out before a backup was restored was below it.
  return std::max<std::int64_t>(runtime_.wall().time_since_epoch().count(),
                                prepared_.token_floor + 1);
}

std::optional<std::string> LockTable::label_for(const Claim& claim) const {
  return names_itself(claim) ? std::nullopt : std::optional<std::string>(claim.label);
}

void LockTable::keep_wakes(table::Turn& turn, BootTime now) {
  for (const table::Wake& wake : turn.take_wakes()) {
    std::optional<Grant> grant;
    if (wake.given) grant = Grant{wake.given->token, now, wake.given->ttl};
    wakes_.push_back({wake.process, wake.claim, grant});
  }
}

// ---- Processes ---------------------------------------------------------------------------------

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
  const int added =
      sql_->add_process
          .run(mark.id, mark.device, mark.inode, identity.pid, identity.started, identity.pid_space,
               std::string_view(label_), std::string_view(prepared_.boot))
          .finish();
  if (added != 1) {
    throw sqlite::Error(sqlite::Error::kRefused,
                        "a process with another boot id has opened it meanwhile: one of the two "
                        "sees a kernel of its own, as in some containers, and cannot share the "
                        "file");
  }
  registered_ = true;
  // Processes that were killed left their rows behind.
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
  // A claim that had to wait probably has others behind it; then the short way is a detour.
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
  RowsOf rows(*this, row->id);
  table::Turn turn(rows, *row, to_row(now), min_token());
  const table::Turn::Ended ended = turn.release(claim.id);
  if (ended != table::Turn::Ended::nothing) {
    save(*row);
    transaction.commit();
    keep_wakes(turn, now);
  }
  places_.erase(claim.id);
  return ended == table::Turn::Ended::hold;
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

// Its ttl begins now, also if that is sooner than it would have ended: a renewal never shortens a hold.
bool LockTable::detach(const Hold& hold) {
  const Claim& claim = hold.claim;
  sqlite::Statement& statement =
      claim.mode == Mode::exclusive ? sql_->detach_owner : sql_->detach_holder;
  const BootTime now = runtime_.now();
  return statement
             .run(claim.name.bytes(), claim.id.bytes(), to_row(hold.token),
                  std::string_view(label_), to_row(now + claim.ttl), to_row(now))
             .finish() == 1;
}

bool LockTable::evict(const Name& name, Token token) {
  sqlite::Transaction transaction(database_);
  const BootTime now = runtime_.now();
  std::optional<Row> row = find(name);
  if (!row) return false;
  RowsOf rows(*this, row->id);
  table::Turn turn(rows, *row, to_row(now), min_token());
  if (!turn.evict(token)) return false;
  save(*row);
  transaction.commit();
  keep_wakes(turn, now);
  return true;
}

// ---- Showing -----------------------------------------------------------------------------------

LockInfo LockTable::describe(const Name& name) {
  std::optional<Row> row = find(name);
  if (!row) return LockInfo{.name = name};
  RowsOf rows(*this, row->id);
  return table::Turn(rows, *row, to_row(runtime_.now())).describe(name);
}

LockInfo LockTable::inspect(const Name& name) {
  sqlite::Snapshot snapshot(database_);
  return describe(name);
}

std::vector<LockInfo> LockTable::list(const std::string& prefix) {
  sqlite::Snapshot snapshot(database_);
  std::vector<std::string> names;
  {
    auto found = sql_->names.run(std::string_view(prefix));
    while (found.next()) {
      const std::string_view name = found.bytes(0);
      if (!name.starts_with(prefix)) break;
      names.emplace_back(name);
    }
  }
  std::vector<LockInfo> all;
  for (const std::string& name : names) {
    LockInfo info = describe(name);
    if (!info.holders.empty() || !info.waiters.empty()) all.push_back(std::move(info));
  }
  return all;
}

}  // namespace holdfast::internal
