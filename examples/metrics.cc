// Metrics: what happens to a program's locks, as Prometheus reads it. See docs/METRICS.md.
#include "holdfast/metrics.h"

#include <iostream>

#include "holdfast/holdfast.h"

int main() {
  holdfast::Metrics metrics;  // one for all clients of the program
  auto client = holdfast::Client::open("memory:", {.observer = metrics.observer("memory")});
  if (!client) {
    std::cerr << client.message() << '\n';
    return 1;
  }
  auto report = client->mutex("nightly-report");
  {
    auto lease = report.acquire();
    auto second = report.try_acquire();  // busy: counted by its outcome
    if (!lease || second) return 1;
  }

  // What the program's HTTP server answers to GET /metrics, with Metrics::kContentType.
  const std::string page = metrics.text();
  std::cout << page;
  const std::string labels = R"({engine="memory",name="nightly-report",mode="exclusive")";
  for (const std::string& expected :
       {"acquisitions_total" + labels + R"(,outcome="granted"} 1)",
        "acquisitions_total" + labels + R"(,outcome="busy"} 1)", "locks_held" + labels + "} 0"}) {
    if (page.find("holdfast_" + expected + "\n") != std::string::npos) continue;
    std::cerr << "missing: " << expected << '\n';
    return 1;
  }
}
