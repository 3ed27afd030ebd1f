// bench_redlock: a lock on five nodes beside one on a single node, and beside other libraries, in one
// run, on servers of its own. Each ratio is of two numbers taken side by side in one repetition; the
// row's own is the median. Ends with status 0 whatever the bars say.
#include <holdfast/holdfast.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>

#include "arguments.h"
#include "crowd.h"
#include "held.h"
#include "our_worker.h"
#include "process.h"
#include "raw.h"
#include "report.h"
#include "server.h"
#include "slow_link.h"
#include "standard.h"

namespace holdfast::bench {

namespace {

constexpr const char* kUsage = R"(usage: bench_redlock [OPTIONS]
  --only NAME        one workload: latency, peers, crowd, held
  --repetitions N    1 to 100 (default 3)
  --seconds S        of one side in one repetition (default 0.5)
  --leases N         held at the same time (default 10000)
  --waiters N        in the crowd (default 1000; a multiple of 8)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

constexpr int kNodes = 5;

struct Plan : BasicPlan {
  int leases = 10'000;  // five nodes on this machine renew each of them
  int waiters = 1000;
  Seconds held_span{11};

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.2);
    leases = 1000;
    waiters = 64;
    held_span = Seconds(1);
  }
};

std::string url_of(const std::vector<int>& ports) {
  std::string url;
  for (const int port : ports) {
    url += (url.empty() ? "redlock://127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return url;
}

double microseconds(Duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

// The median time of an acquire of each, some of one and then some of the next, in turns: what
// disturbs one disturbs the others as well, but nodes that are still at work for one do not.
std::vector<double> acquire_us(std::vector<Client>& clients, Seconds span) {
  std::vector<std::vector<double>> times(clients.size());
  std::vector<Mutex> mutexes;
  for (Client& client : clients) mutexes.push_back(client.mutex("latency"));
  const BootTime warm = BootClock::now() + std::chrono::duration_cast<Duration>(span / 5);
  const BootTime end = warm + std::chrono::duration_cast<Duration>(span);
  constexpr int kBlock = 100;
  while (BootClock::now() < end) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      for (int n = 0; n < kBlock; ++n) {
        const BootTime begin = BootClock::now();
        Lease lease = mutexes[i].acquire().value();
        const BootTime got = BootClock::now();
        lease.release().value();
        if (got > warm && n > 0) times[i].push_back(microseconds(got - begin));
      }
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& each : times) medians.push_back(median(each));
  return medians;
}

double pair_us(Client& client, Seconds span) {
  Mutex mutex = client.mutex("latency");
  std::vector<double> times;
  const BootTime end = BootClock::now() + std::chrono::duration_cast<Duration>(span / 2);
  BootTime before = BootClock::now();
  while (before < end) {
    mutex.acquire().value().release().value();
    const BootTime after = BootClock::now();
    times.push_back(microseconds(after - before));
    before = after;
  }
  return median(times);
}

struct Latencies {
  std::array<double, kMostRepetitions> one, five, stopped, slow, ping;
  std::array<double, kMostRepetitions> pair;  // acquire and release, on five
};

class Nodes {
 public:
  explicit Nodes(int cpu) {
    for (int i = 0; i < kNodes; ++i) servers_.push_back(std::make_unique<Server>(cpu));
  }
  std::vector<int> ports() const {
    std::vector<int> ports;
    for (const auto& server : servers_) ports.push_back(server->port());
    return ports;
  }
  pid_t pid(std::size_t index) const { return servers_[index]->pid(); }
  std::vector<pid_t> pids() const {
    std::vector<pid_t> pids;
    for (const auto& server : servers_) pids.push_back(server->pid());
    return pids;
  }

 private:
  std::vector<std::unique_ptr<Server>> servers_;
};

// Five nodes that are well, five of which two are stopped, five of which one answers 200 ms late.
Latencies measure_latencies(const Plan& plan, int one_port, const Nodes& well, const Nodes& halted,
                            const Nodes& late) {
  std::vector<int> late_ports = late.ports();
  const SlowLink link(late_ports.back(), std::chrono::milliseconds(200));
  std::vector<Client> clients;
  clients.push_back(Client::open("redis://127.0.0.1:" + std::to_string(one_port)).value());
  clients.push_back(Client::open(url_of(well.ports())).value());
  clients.push_back(Client::open(url_of(halted.ports())).value());
  // (Founded by a client that has no slow way to it.)
  Client::open(url_of(late_ports)).value().mutex("latency").acquire().value().release().value();
  late_ports.back() = link.port();
  clients.push_back(Client::open(url_of(late_ports)).value());
  for (Client& client : clients) {
    client.mutex("latency").acquire().value().release().value();
  }
  kill(halted.pid(0), SIGSTOP);
  kill(halted.pid(3), SIGSTOP);
  clients[2].mutex("latency").acquire().value().release().value();
  // Until it is known that they do not answer.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  Latencies all{};
  Raw raw(one_port);
  for (int i = 0; i < plan.repetitions; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::vector<double> medians = acquire_us(clients, plan.span);
    all.one.at(at) = medians[0];
    all.five.at(at) = medians[1];
    all.stopped.at(at) = medians[2];
    all.slow.at(at) = medians[3];
    all.pair.at(at) = pair_us(clients[1], plan.span);
    all.ping.at(at) = raw.ping_us(2000);
  }
  kill(halted.pid(0), SIGCONT);
  kill(halted.pid(3), SIGCONT);
  return all;
}

std::vector<double> ratios(const Plan& plan, const std::array<double, kMostRepetitions>& of,
                           const std::array<double, kMostRepetitions>& to) {
  std::vector<double> all;
  for (int i = 0; i < plan.repetitions; ++i) {
    all.push_back(of.at(static_cast<std::size_t>(i)) / to.at(static_cast<std::size_t>(i)));
  }
  return all;
}

double middle(const Plan& plan, const std::array<double, kMostRepetitions>& of) {
  return median(std::vector<double>(of.begin(), of.begin() + plan.repetitions));
}

struct Placement {
  int server_cpu;
  int client_cpu;
  const char* name;
  const char* what;
};

void report_latencies(const Plan& plan, const Placement& place, Report& report) {
  const Server one(place.server_cpu);
  const Nodes well(place.server_cpu), halted(place.server_cpu), late(place.server_cpu);
  const Latencies all = in_process(
      place.client_cpu, [&] { return measure_latencies(plan, one.port(), well, halted, late); });
  const std::string where = place.what;
  const std::string suffix = place.name;
  report.add(
      {.name = "acquire_5_nodes" + suffix,
       .what = "acquire on 5 nodes; of 1 node" + where,
       .values = ratios(plan, all.five, all.one),
       .bar = Bar{Bar::Side::at_most, 2},
       .detail = format("1 node %.0f us, 5 nodes %.0f us, PING %.0f us", middle(plan, all.one),
                        middle(plan, all.five), middle(plan, all.ping)),
       .figures = {{"one_us", middle(plan, all.one)},
                   {"five_us", middle(plan, all.five)},
                   {"ping_us", middle(plan, all.ping)}}});
  report.add({.name = "pair_in_pings" + suffix,
              .what = "acquire + release on 5 nodes; of a PING to one" + where,
              .values = ratios(plan, all.pair, all.ping),
              .bar = Bar{Bar::Side::at_most, 4},
              .detail = format("pair %.0f us, PING %.0f us", middle(plan, all.pair),
                               middle(plan, all.ping)),
              .figures = {{"pair_us", middle(plan, all.pair)}}});
  report.add({.name = "acquire_2_of_5_stopped" + suffix,
              .what = "2 of 5 stopped; of 5 well" + where,
              .values = ratios(plan, all.stopped, all.five),
              .bar = Bar{Bar::Side::at_most, 1.3},
              .detail = format("%.0f us", middle(plan, all.stopped)),
              .figures = {{"stopped_us", middle(plan, all.stopped)}}});
  report.add({.name = "acquire_1_of_5_slow" + suffix,
              .what = "1 of 5 answers 200 ms late; of 5 well" + where,
              .values = ratios(plan, all.slow, all.five),
              .bar = Bar{Bar::Side::at_most, 1.1},
              .detail = format("%.0f us", middle(plan, all.slow)),
              .figures = {{"slow_us", middle(plan, all.slow)}}});
}

// ---- Beside other libraries --------------------------------------------------------------------

void report_peers(const Plan& plan, const Nodes& nodes, Report& report) {
  std::vector<Entrant> entrants{
      {.name = "Holdfast", .role = Role::ours, .command = {"/proc/self/exe", "worker"}}};
  for (Entrant& peer : installed_peers("redlock")) entrants.push_back(std::move(peer));
  // Nothing is flushed: an empty node would have lost its data, and keep silent for a while.
  const std::vector<int> cpus = allowed_cpus();
  League league(
      {.repetitions = plan.repetitions, .span = 0.6 * plan.span, .warm_up = 2 * plan.span},
      {.url = url_of(nodes.ports()), .cpu = cpus.front(), .processes = nodes.pids()},
      std::move(entrants), report);
  const std::vector<Claim> claims{{kBestPeer, {Bar::Side::at_least, 3}}};
  play_standard(league, {.two_cpus = cpus.size() > 1, .other_cpu = claims, .threads_16 = claims});
}

// ---- The program -------------------------------------------------------------------------------

Plan parse(int argc, char** argv) {
  Plan plan;
  Arguments(kUsage)
      .basic(plan, {"latency", "peers", "crowd", "held"})
      .flag("--quick", [&] { plan.make_quick(); })
      .number("--leases", 100, 1e6, [&](double value) { plan.leases = static_cast<int>(value); })
      .number("--waiters", 16, 8000, [&](double n) { plan.waiters = static_cast<int>(n) / 8 * 8; })
      .parse(argc, argv);
  return plan;
}

// Nodes are made to be on machines of their own; here all of them share a CPU, or two.
void report_latency(const Plan& plan, Report& report) {
  const std::vector<int> cpus = allowed_cpus();
  report_latencies(plan, {kAnyCpu, kAnyCpu, "", ""}, report);
  if (cpus.size() > 1) {
    report_latencies(plan, {cpus.front(), cpus.back(), "_pinned", ", all nodes on one other CPU"},
                     report);
  }
}

int run(const Plan& plan) {
  const std::vector<int> cpus = allowed_cpus();
  Report report(plan.json);
  report.open(format("Redlock on 5 x Redis %s, %zu CPUs, %d repetition%s",
                     Server(cpus.front()).version().c_str(), cpus.size(), plan.repetitions,
                     plan.repetitions == 1 ? "" : "s"));
  const auto attempt = [&](const char* name, const std::function<void()>& workload) {
    if (plan.wants(name)) report.attempt(name, workload);
  };
  attempt("latency", [&] { report_latency(plan, report); });
  if (plan.only == "latency") return report.close();
  const Nodes nodes(kAnyCpu);
  attempt("peers", [&] { report_peers(plan, nodes, report); });
  attempt("crowd", [&] {
    measure_crowd({.most = plan.waiters, .repetitions = plan.repetitions, .span = plan.span},
                  {"/proc/self/exe", "worker", url_of(nodes.ports())}, report);
  });
  attempt("held", [&] {
    measure_held({.most = plan.leases, .span = plan.held_span},
                 {.url = url_of(nodes.ports()), .processes = nodes.pids()}, report);
  });
  return report.close();
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "worker") {
    return holdfast::bench::be_our_worker(argv[2]);
  }
  const holdfast::bench::Plan plan = holdfast::bench::parse(argc, argv);
  try {
    return holdfast::bench::run(plan);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_redlock: %s\n", error.what());
    return 1;
  }
}
