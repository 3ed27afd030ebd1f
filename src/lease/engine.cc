#include "holdfast/engine.h"

#include <algorithm>

#include "base/answer_grace.h"
#include "base/failures.h"
#include "holdfast/examination.h"
#include "holdfast/observer.h"

namespace holdfast {

const char* server_event_name(ServerEventKind kind) {
  switch (kind) {
    case ServerEventKind::connected: return "connected";
    case ServerEventKind::reconnected: return "reconnected";
    case ServerEventKind::disconnected: return "disconnected";
    case ServerEventKind::connect_failed: return "connect_failed";
    case ServerEventKind::error: return "error";
  }
  return "unknown";
}

const char* mode_name(Mode mode) {
  switch (mode) {
    case Mode::exclusive: return "exclusive";
    case Mode::shared: return "shared";
    case Mode::permit: return "permit";
  }
  return "?";
}

const char* to_text(Exclusion value) {
  switch (value) {
    case Exclusion::best_effort: return "best effort";
    case Exclusion::bounded_by_clocks: return "bounded by clocks";
    case Exclusion::linearizable: return "linearizable";
  }
  return "?";
}

const char* to_text(TokenStrength value) {
  switch (value) {
    case TokenStrength::none: return "none";
    case TokenStrength::volatile_memory: return "volatile";
    case TokenStrength::durable_one_node: return "durable on one node";
    case TokenStrength::quorum: return "quorum";
    case TokenStrength::linearizable: return "linearizable";
  }
  return "?";
}

const char* to_text(WakeUp value) { return value == WakeUp::push ? "push" : "poll"; }

const char* to_text(Fairness value) {
  switch (value) {
    case Fairness::none: return "none";
    case Fairness::roughly: return "roughly";
    case Fairness::fifo: return "first come, first served";
  }
  return "?";
}

const char* to_text(Severity value) {
  switch (value) {
    case Severity::good: return "good";
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::unfit: return "unfit";
  }
  return "?";
}

Severity Examination::verdict() const {
  Severity worst = Severity::good;
  for (const Finding& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

Task<Result<LockInfo>> Engine::watch(const Name& name, Token known, const Wait& wait) {
  constexpr Duration kPause = std::chrono::milliseconds(100);
  for (;;) {
    const BootTime now = runtime_.now();
    const Deadline answer_by =
        wait.deadline.sooner(now + std::chrono::seconds(5)).later(now + internal::kAnswerGrace);
    Result<LockInfo> info = co_await inspect(name, answer_by);
    if (!info) co_return info;
    Token newest;
    for (const HolderInfo& holder : info->holders) newest = std::max(newest, holder.token);
    if (newest != known) co_return info;
    if (!wait.queue || wait.deadline.passed(runtime_.now())) {
      co_return Failure::busy(Busy{.holder = "the same holder as before", .token = known.value()});
    }
    const BootTime again = wait.deadline.sooner(runtime_.now() + runtime_.jitter(kPause)).moment();
    if (co_await sleep_until(runtime_, again, wait.stop) == Woken::cancelled) {
      co_return internal::cancelled_by_caller();
    }
  }
}

Task<Result<Examination>> Engine::examine(Deadline) {
  Examination nothing;
  nothing.guarantees = guarantees();
  co_return nothing;
}

namespace {
Failure no_records(const Guarantees& guarantees) {
  const std::string& why = guarantees.no_records_because;
  return Failure(Code::unsupported, guarantees.engine + " (" + guarantees.recipe +
                                        ") keeps no records" + (why.empty() ? "" : ": " + why));
}
}  // namespace

Task<Result<std::optional<std::string>>> Engine::read_record(const Name&, Deadline) {
  co_return no_records(guarantees());
}

Task<Result<bool>> Engine::swap_record(const Name&, std::optional<std::string>,
                                       std::optional<std::string>, Deadline) {
  co_return no_records(guarantees());
}

Task<Result<std::vector<Record>>> Engine::list_records(const std::string&, Deadline) {
  co_return no_records(guarantees());
}

Task<Result<std::optional<WallTime>>> Engine::server_time(Deadline) {
  co_return std::optional<WallTime>();
}

Task<void> Engine::close() { co_return; }

}  // namespace holdfast
