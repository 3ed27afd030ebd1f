// renewal: what many held leases of one client cost while nothing else happens.
#include "held.h"
#include "workloads.h"

namespace holdfast::bench {

void measure_renewal(const Plan& plan, const Server& server, Report& report) {
  measure_held({.most = plan.leases,
                .ttl = plan.lease_ttl,
                .span = plan.lease_span,
                .cpu = plan.client_cpu,
                .most_percent = 15},
               {.url = plan.url, .processes = {server.pid()}, .flush = [&] { server.flush(); }},
               report);
}

}  // namespace holdfast::bench
