#include "engines/table/turn.h"

#include <algorithm>

#include "engines/kit/failures.h"
#include "engines/table/queue_policy.h"

namespace holdfast::internal::table {

// ---- Acquiring ---------------------------------------------------------------------------------

Turn::Answer Turn::acquire(const Claim& claim, const std::optional<std::string>& label,
                           bool queue) {
  drop_ended();
  if (const std::optional<Given> again = repeated(claim)) return *again;
  if (claim.mode == Mode::permit && row_.permits != claim.permits) {
    const bool in_use = row_.sharing > 0 && row_.sharing_mode == Mode::permit;
    if (in_use || rows_.permit_awaited()) {
      return other_permits(claim, row_.permits);
    }
    row_.permits = claim.permits;
  }

  // Those who came before us are served first, also if their turn came just now.
  std::optional<Given> mine = serve(&claim.id);
  if (mine) return *mine;
  const bool queued = rows_.place_of(claim.id).has_value();
  const WaiterRow self{.claim = claim.id,
                       .mode = claim.mode,
                       .permits = claim.permits,
                       .ttl = claim.ttl,
                       .process = rows_.me(),
                       .outlives = claim.outlives_process,
                       .since = now_,
                       .label = label};
  if (!queued && row_.waiting == 0 && admits(row_.holders(), claim.mode, claim.permits)) {
    return grant(self, claim.ttl);
  }
  if (queue && !queued) {
    rows_.add_waiter(self);
    ++row_.waiting;
  }
  drop_dead_before(claim.id);
  return in_the_way_of(claim.id);
}

std::optional<Given> Turn::repeated(const Claim& claim) {
  if (row_.owner == claim.id) {
    row_.expires = now_ + claim.ttl.count();
    row_.ttl = claim.ttl.count();
    return Given{token_from(row_.token), claim.ttl};
  }
  if (row_.sharing == 0) return std::nullopt;
  const std::optional<std::int64_t> token = rows_.token_of(claim.id);
  if (!token) return std::nullopt;
  rows_.set_expiry(claim.id, now_ + claim.ttl.count(), claim.ttl.count());
  return Given{token_from(*token), claim.ttl};
}

void Turn::drop_dead_before(const ClaimId& id) {
  const std::optional<std::int64_t> place = rows_.place_of(id);
  if (!place) return;
  // Else nobody could be watched in their stead, and we would have to look again and again.
  for (;;) {
    const ProcessId process = rows_.process_before(*place);
    if (process == 0 || !rows_.gone(process)) return;
    row_.waiting -= rows_.remove_waiters_of(process);
  }
}

InTheWay Turn::in_the_way_of(const ClaimId& id) {
  InTheWay found;
  const std::int64_t place = rows_.place_of(id).value_or(INT64_MAX);
  found.busy.rank = rows_.count_before(place);
  const ProcessId before = rows_.process_before(place);
  if (before != 0) found.ahead.push_back(before);
  // A claim behind another process watches that one: it takes over, or dies and tells.
  const bool watch_holders = found.ahead.empty();
  const auto see_holder = [&](ProcessId process, std::int64_t token, std::int64_t expires,
                              const std::optional<std::string>& label) {
    found.expires = std::min(found.expires.value_or(INT64_MAX), expires);
    found.busy.token = static_cast<std::uint64_t>(token);
    found.busy.holder = label ? *label : rows_.label_of(process);
    if (watch_holders) found.ahead.push_back(process);
  };
  if (row_.owner) {
    see_holder(row_.process, row_.token, row_.expires, row_.label);
  } else {
    for (const HolderRow& holder : rows_.holders()) {
      see_holder(holder.process, holder.token, holder.expires, holder.label);
    }
  }
  if (found.expires) {
    found.busy.expires_in = Duration(std::max<std::int64_t>(*found.expires - now_, 0));
  }
  std::sort(found.ahead.begin(), found.ahead.end());
  found.ahead.erase(std::unique(found.ahead.begin(), found.ahead.end()), found.ahead.end());
  std::erase_if(found.ahead, [&](ProcessId each) { return each == 0 || each == rows_.me(); });
  return found;
}

// ---- Serving the queue -------------------------------------------------------------------------

std::optional<Given> Turn::serve(const ClaimId* self) {
  std::optional<Given> mine;
  bool granted_together = false;
  while (row_.waiting > 0) {
    const std::optional<WaiterRow> next = rows_.head();
    if (!next) {  // The count is only a hint; the rows decide.
      row_.waiting = 0;
      break;
    }
    const bool is_self = self && next->claim == *self;
    const bool gone = !is_self && rows_.gone(next->process);
    const HeadFate fate = fate_of_head(row_.holders(), next->mode, next->permits, gone);
    if (fate == HeadFate::waits) break;
    rows_.remove_waiter(next->seq);
    --row_.waiting;
    if (fate == HeadFate::dropped) continue;
    const Duration ttl = is_self ? next->ttl : std::min(next->ttl, kProvisionalTtl);
    const Given given = grant(*next, ttl);
    granted_together = granted_together || next->mode != Mode::exclusive;
    if (is_self) {
      mine = given;
    } else {
      wakes_.push_back({next->process, next->claim, given});
    }
  }
  // One of several holders is new: the first in line must learn whom to watch.
  if (granted_together && row_.waiting > 0) {
    const std::optional<WaiterRow> next = rows_.head();
    if (next && !(self && next->claim == *self)) {
      wakes_.push_back({next->process, next->claim, std::nullopt});
    }
  }
  return mine;
}

Given Turn::grant(const WaiterRow& winner, Duration ttl) {
  ++row_.token;
  row_.token = std::max(row_.token, min_token_);
  const ProcessId process = winner.outlives ? 0 : winner.process;
  if (winner.mode == Mode::exclusive) {
    row_.owner = winner.claim;
    row_.process = process;
    row_.since = now_;
    row_.expires = now_ + ttl.count();
    row_.ttl = ttl.count();
    row_.label = winner.label;
  } else {
    rows_.add_holder({.claim = winner.claim,
                      .token = row_.token,
                      .process = process,
                      .since = now_,
                      .expires = now_ + ttl.count(),
                      .ttl = ttl.count(),
                      .label = winner.label});
    ++row_.sharing;
    row_.sharing_mode = winner.mode;
    if (winner.mode == Mode::permit) row_.permits = winner.permits;
  }
  return Given{token_from(row_.token), ttl};
}

// ---- Ended holds -------------------------------------------------------------------------------

void Turn::drop_ended() {
  if (row_.owner) {
    row_.expires = end_of(row_.expires, row_.ttl);
    if (ended(row_.expires, row_.process)) row_.owner.reset();
  }
  if (row_.sharing == 0) return;
  for (const HolderRow& holder : rows_.holders()) {
    const std::int64_t end = end_of(holder.expires, holder.ttl);
    if (ended(end, holder.process)) {
      remove_holder(holder.claim);
    } else if (end != holder.expires) {
      rows_.set_expiry(holder.claim, end, holder.ttl);
    }
  }
}

std::int64_t Turn::end_of(std::int64_t expires, std::int64_t ttl) const {
  // It was granted or renewed before now, whatever the clock said then.
  return ttl == 0 ? expires : std::min(expires, now_ + ttl);
}

bool Turn::ended(std::int64_t expires, ProcessId process) {
  return expires <= now_ || rows_.gone(process);
}

// ---- Giving back -------------------------------------------------------------------------------

Turn::Ended Turn::release(const ClaimId& id) {
  Ended what = Ended::hold;
  if (row_.owner == id) {
    row_.owner.reset();
  } else if (!remove_holder(id)) {
    if (!remove_waiter(id)) return Ended::nothing;
    what = Ended::wait;
  }
  drop_ended();
  serve(nullptr);
  return what;
}

bool Turn::remove_holder(const ClaimId& id) {
  if (row_.sharing == 0 || !rows_.remove_holder(id)) return false;
  --row_.sharing;
  return true;
}

bool Turn::waits(const ClaimId& id) const { return rows_.place_of(id).has_value(); }

bool Turn::remove_waiter(const ClaimId& id) {
  const std::optional<std::int64_t> place = rows_.place_of(id);
  if (!place) return false;
  rows_.remove_waiter(*place);
  --row_.waiting;
  // The waiter behind us was watching us.
  if (const std::optional<WaiterRow> next = rows_.behind(*place)) {
    wakes_.push_back({next->process, next->claim, std::nullopt});
  }
  return true;
}

bool Turn::evict(Token token) {
  const std::int64_t wanted = to_row(token);
  drop_ended();
  if (row_.owner && row_.token == wanted) {
    row_.owner.reset();
  } else {
    std::optional<ClaimId> victim;
    for (const HolderRow& holder : rows_.holders()) {
      if (holder.token == wanted) victim = holder.claim;
    }
    if (!victim || !remove_holder(*victim)) return false;
  }
  serve(nullptr);
  return true;
}

// ---- Showing -----------------------------------------------------------------------------------

LockInfo Turn::describe(const Name& name) {
  LockInfo info{.name = name,
                .last_token = token_from(row_.token),
                .permits = row_.sharing_mode == Mode::permit ? row_.permits : 0};
  const auto add_holder = [&](const HolderRow& holder, Mode mode) {
    if (ended(holder.expires, holder.process)) return;
    info.holders.push_back({.id = holder.claim,
                            .mode = mode,
                            .token = token_from(holder.token),
                            .label = holder.label ? *holder.label : rows_.label_of(holder.process),
                            .held_for = Duration(now_ - holder.since),
                            .expires_in = Duration(holder.expires - now_)});
  };
  if (row_.owner) {
    add_holder({.claim = *row_.owner,
                .token = row_.token,
                .process = row_.process,
                .since = row_.since,
                .expires = row_.expires,
                .label = row_.label},
               Mode::exclusive);
  }
  for (const HolderRow& holder : rows_.holders()) add_holder(holder, row_.sharing_mode);
  for (const WaiterRow& waiter : rows_.line()) {
    if (rows_.gone(waiter.process)) continue;
    info.waiters.push_back({.id = waiter.claim,
                            .mode = waiter.mode,
                            .label = waiter.label ? *waiter.label : rows_.label_of(waiter.process),
                            .waited_for = Duration(now_ - waiter.since)});
  }
  return info;
}

}  // namespace holdfast::internal::table
