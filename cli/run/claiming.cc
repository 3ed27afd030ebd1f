#include "claiming.h"

#include <optional>

#include "interrupt.h"
#include "wait_notice.h"

namespace holdfast::cli {
namespace {

// Down is not no: a server that is away, or did not answer in time, may come back.
bool worth_waiting(Code code) {
  return code == Code::busy || code == Code::unreachable || code == Code::unknown;
}

// Most often they are free. If locks end with their process, then so may we at any time, and there is no thread to
// be started that could withdraw the claim.
Claimed try_once(const Session& session, const Client& client, MultiLock& locks) {
  if (client.liveness_descriptor() >= 0) {
    const ExitOnSignal at_once(session.json);
    return {.leases = locks.try_acquire()};
  }
  Interrupt interrupt([&](int signal) { session.give_up_on(signal); });
  Claimed claimed{.leases = locks.try_acquire()};
  claimed.signal = interrupt.end();
  return claimed;
}

}  // namespace

Claimed claim_all(const Session& session, const ClaimPlan& plan, Client& client,
                  const std::vector<Name>& names, BootTime asked, const ServiceNotifier& manager) {
  MultiLock locks = plan.request_all(client, names);
  Claimed first = try_once(session, client, locks);
  if (first.signal != 0 || first.leases || !worth_waiting(first.leases.code()) ||
      plan.patience == Duration::zero()) {
    return first;
  }
  Interrupt interrupt([&](int signal) { session.give_up_on(signal); });
  std::optional<WaitNotice> notice;
  if (!plan.quiet || manager) {
    notice.emplace(session, names, plan.label,
                   WaitNotice::Audience{.quiet = plan.quiet, .manager = manager});
  }
  Claimed claimed{.leases = plan.patience
                                ? locks.try_acquire_for(asked + *plan.patience - BootClock::now(),
                                                        interrupt.token())
                                : locks.acquire(interrupt.token())};
  claimed.signal = interrupt.end();
  return claimed;
}

}  // namespace holdfast::cli
