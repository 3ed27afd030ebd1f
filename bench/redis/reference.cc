// reference: what redis-benchmark says of the same server, for information. (There is no TLS pair:
// Debian's hiredis 0.14 cannot speak TLS, so nothing raw stands beside it.)
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "process.h"
#include "workloads.h"

namespace holdfast::bench {

namespace {

// SETs a second; 0 if redis-benchmark is not there.
double sets_per_s(int port, int pipeline, int count) {
  const std::string command =
      format("redis-benchmark -p %d -t set -P %d -n %d --csv 2>/dev/null", port, pipeline, count);
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), &pclose);
  char line[512];
  double rate = 0;
  while (output && std::fgets(line, sizeof line, output.get())) {
    if (std::string_view(line).starts_with("\"SET\",\"")) rate = std::atof(line + 7);
  }
  return rate;
}

}  // namespace

void measure_reference(const Plan& plan, const Server& server, Report& report) {
  for (const int pipeline : {1, 16}) {
    report.progress(format("redis-benchmark -P %d", pipeline));
    const double rate = in_process(
        plan.client_cpu, [&] { return sets_per_s(server.port(), pipeline, plan.reference_sets); });
    if (rate == 0) continue;  // Not installed (redis-tools).
    report.add({.name = format("redis_benchmark_p%d", pipeline),
                .what = format("redis-benchmark SET -P %d, 50 connections", pipeline),
                .values = {rate / 1000},
                .unit = "k",
                .detail = format("SETs a second, in thousands; server on CPU %d, client on CPU %d",
                                 plan.server_cpu, plan.client_cpu),
                .figures = {{"sets_per_s", rate}}});
  }
}

}  // namespace holdfast::bench
