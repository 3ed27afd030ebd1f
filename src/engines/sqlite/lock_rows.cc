#include "engines/sqlite/lock_rows.h"

#include <cstring>

namespace holdfast::internal {

LockTable::Statements::Statements(sqlite::Database& db)
    : take_free(db,
                "UPDATE lock SET owner = ?2, token = max(token + 1, ?7), process = ?3, since = ?4,"
                " expires = ?5, label = ?6"
                " WHERE name = ?1 AND owner IS NULL AND waiting = 0 AND sharing = 0"
                " RETURNING token"),
      free_held(db, "UPDATE lock SET owner = NULL WHERE name = ?1 AND owner = ?2 AND waiting = 0"),
      find(db,
           "SELECT id, token, owner, process, since, expires, label, waiting, sharing,"
           " sharing_mode, permits FROM lock WHERE name = ?1"),
      insert(db,
             "INSERT INTO lock(name, token) VALUES(?1, (SELECT token_floor FROM meta))"
             " RETURNING id, token"),
      save(db,
           "UPDATE lock SET token = ?2, owner = ?3, process = ?4, since = ?5, expires = ?6,"
           " label = ?7, waiting = ?8, sharing = ?9, sharing_mode = ?10, permits = ?11"
           " WHERE id = ?1"),
      renew_owner(db,
                  "UPDATE lock SET expires = max(expires, ?3)"
                  " WHERE name = ?1 AND owner = ?2 AND expires > ?4 AND token = ?5"),
      renew_holder(db,
                   "UPDATE holder SET expires = max(expires, ?3)"
                   " WHERE claim = ?2 AND expires > ?4 AND token = ?5"
                   " AND lock = (SELECT id FROM lock WHERE name = ?1)"),
      set_expiry(db, "UPDATE holder SET expires = ?3 WHERE lock = ?1 AND claim = ?2"),
      detach_owner(db,
                   "UPDATE lock SET process = 0, label = coalesce(label, ?4),"
                   " expires = CASE WHEN expires > ?6 THEN ?5 ELSE expires END"
                   " WHERE name = ?1 AND owner = ?2 AND token = ?3"),
      detach_holder(db,
                    "UPDATE holder SET process = 0, label = coalesce(label, ?4),"
                    " expires = CASE WHEN expires > ?6 THEN ?5 ELSE expires END"
                    " WHERE claim = ?2 AND token = ?3"
                    " AND lock = (SELECT id FROM lock WHERE name = ?1)"),
      holders(db,
              "SELECT claim, token, process, since, expires, label FROM holder WHERE lock = ?1"
              " ORDER BY token"),
      holder_of_claim(db, "SELECT token FROM holder WHERE lock = ?1 AND claim = ?2"),
      add_holder(db, "INSERT INTO holder VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"),
      remove_holder(db, "DELETE FROM holder WHERE lock = ?1 AND claim = ?2"),
      head(db,
           "SELECT seq, claim, mode, permits, ttl, process, outlives, since, label FROM waiter"
           " WHERE lock = ?1 ORDER BY seq LIMIT 1"),
      line(db,
           "SELECT seq, claim, mode, permits, ttl, process, outlives, since, label FROM waiter"
           " WHERE lock = ?1 ORDER BY seq"),
      waiter_at(db, "SELECT 1 FROM waiter WHERE lock = ?1 AND seq = ?2 AND claim = ?3"),
      add_waiter(db,
                 "INSERT INTO waiter VALUES(?1, (SELECT coalesce(max(seq), 0) + 1 FROM waiter"
                 " WHERE lock = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING seq"),
      remove_waiters_of(db, "DELETE FROM waiter WHERE lock = ?1 AND process = ?2"),
      remove_waiter(db, "DELETE FROM waiter WHERE lock = ?1 AND seq = ?2"),
      next_waiter(
          db,
          "SELECT seq, claim, mode, permits, ttl, process, outlives, since, label FROM waiter"
          " WHERE lock = ?1 AND seq > ?2 ORDER BY seq LIMIT 1"),
      permit_waiter(db, "SELECT 1 FROM waiter WHERE lock = ?1 AND mode = ?2 LIMIT 1"),
      waiters_before(db,
                     "SELECT count(*) FROM (SELECT 1 FROM waiter WHERE lock = ?1 AND seq < ?2"
                     " LIMIT 1000)"),
      process_before(db,
                     "SELECT process FROM waiter WHERE lock = ?1 AND seq < ?2 AND process <> ?3"
                     " ORDER BY seq DESC LIMIT 1"),
      process(db,
              "SELECT device, inode, pid, started, pid_space, label FROM process WHERE id = ?1"),
      processes(db, "SELECT id, device, inode FROM process"),
      add_process(db,
                  "INSERT OR REPLACE INTO process SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"
                  " WHERE (SELECT boot FROM meta) = CAST(?8 AS TEXT)"),
      remove_process(db, "DELETE FROM process WHERE id = ?1"),
      names(db,
            "SELECT name FROM lock WHERE name >= ?1 AND (owner IS NOT NULL OR waiting > 0 OR"
            " sharing > 0) ORDER BY name"),
      raise_floor(db,
                  "UPDATE meta SET token_floor = max(token_floor, (SELECT coalesce(max(token), 0)"
                  " FROM (SELECT token FROM lock WHERE owner IS NULL AND waiting = 0 AND"
                  " sharing = 0 AND id < ?1 ORDER BY id LIMIT ?2)))"),
      remove_idle(db,
                  "DELETE FROM lock WHERE id IN (SELECT id FROM lock WHERE owner IS NULL AND"
                  " waiting = 0 AND sharing = 0 AND id < ?1 ORDER BY id LIMIT ?2)") {}

ClaimId claim_from(std::string_view bytes) {
  std::array<std::uint8_t, ClaimId::kBytes> raw{};
  std::memcpy(raw.data(), bytes.data(), std::min(bytes.size(), raw.size()));
  return ClaimId(raw);
}

std::optional<std::string> text_at(const sqlite::Statement::Cursor& row, int column) {
  if (row.null(column)) return std::nullopt;
  return std::string(row.bytes(column));
}

std::optional<LockTable::Row> LockTable::find(const Name& name) {
  auto found = sql_->find.run(name.bytes());
  if (!found.next()) return std::nullopt;
  Row row;
  row.id = found.number(0);
  row.token = found.number(1);
  if (!found.null(2)) {
    row.owner = claim_from(found.bytes(2));
    row.process = found.number(3);
    row.since = found.number(4);
    row.expires = found.number(5);
    row.label = text_at(found, 6);
  }
  row.waiting = found.number(7);
  row.sharing = static_cast<std::uint32_t>(found.number(8));
  row.sharing_mode = mode_from(found.number(9));
  row.permits = static_cast<std::uint32_t>(found.number(10));
  return row;
}

LockTable::Row LockTable::load(const Name& name) {
  if (std::optional<Row> row = find(name)) return *row;
  auto made = sql_->insert.run(name.bytes());
  made.next();
  Row row;
  row.id = made.number(0);
  row.token = made.number(1);
  made.finish();
  constexpr std::int64_t kRemember = 50'000;
  constexpr std::int64_t kForgetEvery = 1'000;
  if (row.id > kRemember && row.id % kForgetEvery == 0) forget_idle_names(row.id - kRemember);
  return row;
}

void LockTable::forget_idle_names(std::int64_t before) {
  // A program that locks a new name for each of its orders must not fill the disk. Tokens go on
  // from the highest that is forgotten, so none is given out twice. In slices: this is somebody's
  // acquire.
  constexpr std::int64_t kSlice = 2'000;
  sql_->raise_floor.run(before, kSlice).finish();
  sql_->remove_idle.run(before, kSlice).finish();
}

void LockTable::save(const Row& row) {
  const auto store = [&](const auto& owner, const auto& label) {
    sql_->save
        .run(row.id, row.token, owner, row.process, row.since, row.expires, label, row.waiting,
             std::int64_t(row.sharing), to_row(row.sharing_mode), std::int64_t(row.permits))
        .finish();
  };
  if (!row.owner) {
    store(nullptr, nullptr);
  } else if (!row.label) {
    store(row.owner->bytes(), nullptr);
  } else {
    store(row.owner->bytes(), std::string_view(*row.label));
  }
}

// ---- The rows beside it ------------------------------------------------------------------------

namespace {

// Bound as null if it is not there. F: (argument) -> void.
template <class F>
void with_label(const std::optional<std::string>& label, F bind) {
  if (label) {
    bind(std::string_view(*label));
  } else {
    bind(nullptr);
  }
}

table::WaiterRow waiter_from(const sqlite::Statement::Cursor& row) {
  return {.seq = row.number(0),
          .claim = claim_from(row.bytes(1)),
          .mode = mode_from(row.number(2)),
          .permits = static_cast<std::uint32_t>(row.number(3)),
          .ttl = Duration(row.number(4)),
          .process = row.number(5),
          .outlives = row.number(6) != 0,
          .since = row.number(7),
          .label = text_at(row, 8)};
}

}  // namespace

std::vector<table::HolderRow> LockTable::RowsOf::holders() {
  std::vector<table::HolderRow> all;
  auto row = sql_.holders.run(id_);
  while (row.next()) {
    all.push_back({.claim = claim_from(row.bytes(0)),
                   .token = row.number(1),
                   .process = row.number(2),
                   .since = row.number(3),
                   .expires = row.number(4),
                   .label = text_at(row, 5)});
  }
  return all;
}

std::optional<std::int64_t> LockTable::RowsOf::token_of(const ClaimId& holder) {
  auto row = sql_.holder_of_claim.run(id_, holder.bytes());
  return row.next() ? std::optional(row.number(0)) : std::nullopt;
}

void LockTable::RowsOf::add_holder(const table::HolderRow& holder) {
  with_label(holder.label, [&](const auto& label) {
    sql_.add_holder
        .run(id_, holder.claim.bytes(), holder.token, holder.process, holder.since, holder.expires,
             label)
        .finish();
  });
}

bool LockTable::RowsOf::remove_holder(const ClaimId& claim) {
  return sql_.remove_holder.run(id_, claim.bytes()).finish() > 0;
}

void LockTable::RowsOf::set_expiry(const ClaimId& holder, std::int64_t expires, std::int64_t) {
  // Nobody sets CLOCK_BOOTTIME back.
  sql_.set_expiry.run(id_, holder.bytes(), expires).finish();
}

std::optional<table::WaiterRow> LockTable::RowsOf::head() {
  auto row = sql_.head.run(id_);
  return row.next() ? std::optional(waiter_from(row)) : std::nullopt;
}

std::vector<table::WaiterRow> LockTable::RowsOf::line() {
  std::vector<table::WaiterRow> all;
  auto row = sql_.line.run(id_);
  while (row.next()) all.push_back(waiter_from(row));
  return all;
}

std::optional<std::int64_t> LockTable::RowsOf::place_of(const ClaimId& waiter) {
  const auto place = table_.places_.find(waiter);
  if (place == table_.places_.end()) return std::nullopt;
  if (!sql_.waiter_at.run(id_, place->second, waiter.bytes()).next()) return std::nullopt;
  return place->second;
}

void LockTable::RowsOf::add_waiter(const table::WaiterRow& waiter) {
  with_label(waiter.label, [&](const auto& label) {
    auto added =
        sql_.add_waiter.run(id_, waiter.claim.bytes(), to_row(waiter.mode),
                            std::int64_t(waiter.permits), std::int64_t(waiter.ttl.count()),
                            waiter.process, std::int64_t(waiter.outlives), waiter.since, label);
    added.next();
    table_.places_[waiter.claim] = added.number(0);
    added.finish();
  });
}

void LockTable::RowsOf::remove_waiter(std::int64_t seq) {
  sql_.remove_waiter.run(id_, seq).finish();
}

std::int64_t LockTable::RowsOf::remove_waiters_of(ProcessId process) {
  return sql_.remove_waiters_of.run(id_, process).finish();
}

std::optional<table::WaiterRow> LockTable::RowsOf::behind(std::int64_t seq) {
  auto row = sql_.next_waiter.run(id_, seq);
  return row.next() ? std::optional(waiter_from(row)) : std::nullopt;
}

bool LockTable::RowsOf::permit_awaited() {
  return sql_.permit_waiter.run(id_, to_row(Mode::permit)).next();
}

std::uint64_t LockTable::RowsOf::count_before(std::int64_t seq) {
  auto row = sql_.waiters_before.run(id_, seq);
  row.next();
  return static_cast<std::uint64_t>(row.number(0));
}

ProcessId LockTable::RowsOf::process_before(std::int64_t seq) {
  auto row = sql_.process_before.run(id_, seq, me());
  return row.next() ? row.number(0) : 0;
}

ProcessId LockTable::RowsOf::me() { return table_.liveness_.mine().id; }

bool LockTable::RowsOf::gone(ProcessId process) {
  if (process == 0 || process == me()) return false;
  const ProcessInfo& info = table_.process_info(process);
  // A row is removed only when its process is gone.
  return info.mark.id == 0 || !table_.liveness_.may_live(info.mark);
}

}  // namespace holdfast::internal
