// What list() and inspect() tell: the rows of one moment, without those who are gone.
#include "engines/sqlite/lock_rows.h"
#include "engines/sqlite/lock_table.h"

namespace holdfast::internal {

LockInfo LockTable::describe(const Name& name) {
  const std::optional<Row> found = find(name);
  if (!found) return LockInfo{.name = name};
  const Row& row = *found;
  const BootTime now = runtime_.now();
  LockInfo info{.name = row.name,
                .last_token = Token(static_cast<std::uint64_t>(row.token)),
                .permits = row.sharing_mode == Mode::permit ? row.permits : 0};
  const auto add_holder = [&](const ClaimId& id, Mode mode, std::int64_t token, ProcessId process,
                              std::int64_t since, std::int64_t expires,
                              const std::optional<std::string>& label) {
    if (ended(expires, process, now)) return;
    info.holders.push_back({.id = id,
                            .mode = mode,
                            .token = Token(static_cast<std::uint64_t>(token)),
                            .label = label ? *label : process_label(process),
                            .held_for = now - moment_from(since),
                            .expires_in = moment_from(expires) - now});
  };
  if (row.owner) {
    add_holder(*row.owner, Mode::exclusive, row.token, row.process, row.since, row.expires,
               row.label);
  }
  auto holder = sql_->holders.run(row.id);
  while (holder.next()) {
    add_holder(claim_from(holder.bytes(0)), row.sharing_mode, holder.number(1), holder.number(2),
               holder.number(3), holder.number(4), text_at(holder, 5));
  }
  auto waiter = sql_->line.run(row.id);
  while (waiter.next()) {
    const ProcessId process = waiter.number(2);
    if (gone(process)) continue;
    const std::optional<std::string> label = text_at(waiter, 4);
    info.waiters.push_back({.id = claim_from(waiter.bytes(0)),
                            .mode = mode_from(waiter.number(1)),
                            .label = label ? *label : process_label(process),
                            .waited_for = now - moment_from(waiter.number(3))});
  }
  return info;
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
