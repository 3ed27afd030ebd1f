// Redlock on five Redis servers beside one of them, with nodes stopped and slow, and beside other libraries.
#include <holdfast/holdfast.h>

#include <array>
#include <csignal>
#include <thread>

#include "data_folder.h"
#include "kinds.h"
#include "process.h"
#include "redis_raw.h"
#include "redis_server.h"
#include "slow_link.h"

namespace holdfast::bench {

namespace {

constexpr std::size_t kNodes = 5;

std::string url_of(const std::vector<int>& ports) {
  std::string url;
  for (const int port : ports) {
    url += (url.empty() ? "redlock://127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return url;
}

class Nodes {
 public:
  Nodes() {
    for (std::size_t i = 0; i < kNodes; ++i) {
      servers_.push_back(
          std::make_unique<test::RedisServer>(test::RedisOptions{.durable = on_disk()}));
    }
  }
  std::vector<int> ports() const {
    std::vector<int> ports;
    for (const auto& server : servers_) ports.push_back(server->port());
    return ports;
  }
  std::vector<pid_t> pids() const {
    std::vector<pid_t> pids;
    for (const auto& server : servers_) pids.push_back(server->pid());
    return pids;
  }

 private:
  std::vector<std::unique_ptr<test::RedisServer>> servers_;
};

// ---- Latency ------------------------------------------------------------------------------------

double microseconds(Duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

// The median time of an acquire of each client, a block of one and then of the next: a disturbance hits all of
// them, and a node that is still busy with one client's requests does not delay another's.
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

struct Latencies {
  enum Of { one, five, stopped, slow, ping, kCount };
  std::array<std::array<double, kMaxRepetitions>, kCount> us;

  std::vector<double> of(Of what, int repetitions) const {
    return {us[what].begin(), us[what].begin() + repetitions};
  }
};

// On one node; on five; on five of which two are stopped; on five of which one answers 200 ms late.
Latencies measure_latencies(const Plan& plan, int one_port, const Nodes& well, const Nodes& halted,
                            const Nodes& late) {
  std::vector<int> late_ports = late.ports();
  const SlowLink link(late_ports.back(), std::chrono::milliseconds(200));
  // (Founded by a client that reaches all of its nodes quickly.)
  Client::open(url_of(late_ports)).value().mutex("latency").acquire().value().release().value();
  late_ports.back() = link.port();
  std::vector<Client> clients;
  clients.push_back(Client::open("redis://127.0.0.1:" + std::to_string(one_port)).value());
  for (const auto& ports : {well.ports(), halted.ports(), late_ports}) {
    clients.push_back(Client::open(url_of(ports)).value());
  }
  for (Client& client : clients) client.mutex("latency").acquire().value().release().value();
  const std::vector<pid_t> halted_pids = halted.pids();
  const auto signal_two = [&](int signal) {
    kill(halted_pids[0], signal);
    kill(halted_pids[3], signal);
  };
  signal_two(SIGSTOP);
  clients[2].mutex("latency").acquire().value().release().value();
  // Until the client knows that they do not answer.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  Latencies all{};
  RedisRaw raw(one_port);
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan.repetitions); ++i) {
    const std::vector<double> medians = acquire_us(clients, plan.span);
    for (std::size_t of = 0; of < medians.size(); ++of) all.us[of].at(i) = medians[of];
    all.us[Latencies::ping].at(i) = raw.ping_us(2000);
  }
  signal_two(SIGCONT);
  return all;
}

void report_ratio(const Plan& plan, Report& report, const Latencies& all, const std::string& name,
                  const std::string& what, Latencies::Of of, Latencies::Of to, double most) {
  const std::vector<double> ours = all.of(of, plan.repetitions),
                            base = all.of(to, plan.repetitions);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / base[i]);
  report.add({.name = name,
              .what = what,
              .values = ratios,
              .target = at_most(most),
              .detail = format("%.0f us of %.0f us; PING %.0f us", median(ours), median(base),
                               median(all.of(Latencies::ping, plan.repetitions))),
              .figures = {{"us", median(ours)}, {"of_us", median(base)}}});
}

// Nodes are made to be on machines of their own; here all of them share the CPUs.
void measure_latency(const Plan& plan, Report& report) {
  const test::RedisServer one;
  const Nodes well, halted, late;
  const Latencies all =
      in_process(kAnyCpu, [&] { return measure_latencies(plan, one.port(), well, halted, late); });
  const auto add = [&](const char* name, const char* what, Latencies::Of of, Latencies::Of to,
                       double most) { report_ratio(plan, report, all, name, what, of, to, most); };
  add("acquire_5_nodes", "acquire on 5 nodes; of 1 node", Latencies::five, Latencies::one, 2);
  add("acquire_2_of_5_stopped", "2 of 5 stopped; of 5 well", Latencies::stopped, Latencies::five,
      1.3);
  add("acquire_1_of_5_slow", "1 of 5 answers 200 ms late; of 5 well", Latencies::slow,
      Latencies::five, 1.1);
}

// ---- The system ---------------------------------------------------------------------------------

class Redlock final : public System {
 public:
  std::string title() const override {
    return "Redlock on 5 x " + title_of(test::ServerKind::redis);
  }
  std::string url() const override { return url_of(nodes_.ports()); }
  std::vector<pid_t> processes() const override { return nodes_.pids(); }
  // (Nothing is flushed: an empty node would have lost its data, and keep silent for a while.)
  std::vector<Division> divisions() const override {
    std::vector<Entrant> entrants{holdfast_entrant()};
    for (Entrant& peer : installed_peers("redlock")) entrants.push_back(std::move(peer));
    const std::vector<Target> targets{at_least(3, kBestPeer)};
    return {{.entrants = std::move(entrants),
             .standard = {.other_cpu = targets, .threads_16 = targets}}};
  }
  std::vector<Extra> extras() const override { return {{"latency", &measure_latency}}; }

 private:
  Nodes nodes_;
};

}  // namespace

SystemKind redlock_kind() {
  return {.name = "redlock",
          .start = [](int) { return std::make_unique<Redlock>(); },
          .pinned = false,
          // Five nodes on this machine renew each of them.
          .most_leases = 10'000};
}

}  // namespace holdfast::bench
