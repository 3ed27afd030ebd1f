// Taking the locks for a command: at once if they are free, else waiting, which Ctrl-C ends and the user is told of.
#pragma once

#include <vector>

#include "claim_options.h"
#include "service_notifier.h"

namespace holdfast::cli {

struct Claimed {
  Result<MultiLease> leases;  // REQUIRES for use: no signal
  int signal = 0;             // that ended the wait; then nothing is held
};

// All of `names` (sorted, no name twice) or none. The patience of the plan counts from `asked`.
Claimed claim_all(const Session& session, const ClaimPlan& plan, Client& client,
                  const std::vector<Name>& names, BootTime asked, const ServiceNotifier& manager);

}  // namespace holdfast::cli
