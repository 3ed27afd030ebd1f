// The embedded engine beside bare SQLite, in one run:
//   pairs     uncontended acquire + release through the public API, against the same two
//             prepared statements run bare on a file with the same settings
//   hand-off  from release in one process to the return of acquire in another
//   leases    what N held leases cost: memory, and CPU of their renewal
//   peers     pairs and hand-offs among eight processes, beside bare SQLite and flock(2)
// Prints medians of interleaved repetitions, as a table or with --json.
#include <holdfast/holdfast.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bare.h"
#include "league.h"
#include "our_worker.h"
#include "process.h"
#include "report.h"
#include "samples.h"
#include "workers.h"

namespace holdfast::bench {

namespace {

struct Options {
  bool json = false;
  std::string directory = "/dev/shm";
  int pairs = 20000;
  int hand_offs = 4000;
  int leases = 100000;
  int seconds = 20;
  Seconds span{1};
};

// ---- Pairs -------------------------------------------------------------------------------------

template <class F>
double rate(int count, F work) {
  const auto begin = BootClock::now();
  work();
  return count / Seconds(BootClock::now() - begin).count();
}

void measure_pairs(const std::string& directory, int count, Report& report) {
  Bare bare(directory + "/bare.db");
  Client client = Client::open("sqlite://" + directory + "/pairs.db").value();
  auto mutex = client.mutex("pair");
  const auto ours = [&](int pairs) {
    for (int i = 0; i < pairs; ++i) mutex.try_acquire().value().release().value();
  };
  bare.run(count / 10);
  ours(count / 10);
  std::vector<double> bares, oursies, ratios;
  for (int repetition = 0; repetition < 5; ++repetition) {
    report.progress(format("pairs: repetition %d of 5", repetition + 1));
    bares.push_back(rate(count, [&] { bare.run(count); }));
    oursies.push_back(rate(count, [&] { ours(count); }));
    ratios.push_back(oursies.back() / bares.back());
  }
  report.add(
      {.name = "pairs",
       .what = "acquire + release; of the bare statements",
       .values = ratios,
       .bar = Bar{Bar::Side::at_least, 0.7},
       .detail = format("bare SQLite %.0f, Holdfast %.0f pairs/s", median(bares), median(oursies)),
       .figures = {{"raw_per_s", median(bares)}, {"ours_per_s", median(oursies)}}});
}

// ---- Hand-off ----------------------------------------------------------------------------------

// Shared by the two processes.
struct Board {
  std::atomic<std::int64_t> released_at{0};
  std::atomic<int> rounds{0};
  std::atomic<int> last{-1};
  double gaps[1 << 16];
};

// Each process on a CPU of its own: else the scheduler often leaves the winner on the CPU of the
// one that released, which goes on to queue up again first.
void pin_to_own_cpu(int number) {
  const std::vector<int> cpus = allowed_cpus();
  pin_to_cpu(cpus[static_cast<std::size_t>(number) % cpus.size()]);
}

// Takes the lock again and again; each change of owner is one measured gap. Holds it until the
// other one waits, so that every release is a hand-off.
void play(const std::string& url, Board& board, int who, int rounds) {
  pin_to_own_cpu(who);
  Client client = Client::open(url).value();
  auto mutex = client.mutex("hand-off");
  for (;;) {
    Lease lease = mutex.acquire().value();
    const std::int64_t now = BootClock::now().time_since_epoch().count();
    const int round = board.rounds;
    if (board.last.exchange(who) == 1 - who && round < rounds) {
      board.gaps[round] = static_cast<double>(now - board.released_at) / 1e3;
      board.rounds = round + 1;
    }
    if (board.rounds >= rounds) return;
    // Long enough for the other to be asleep in its wait.
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    board.released_at = BootClock::now().time_since_epoch().count();
    lease.release().value();
  }
}

void measure_hand_off(const std::string& directory, int rounds, Report& report) {
  const std::string url = "sqlite://" + directory + "/hand-off.db";
  auto* board =
      new (mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Board;
  rounds = std::min(rounds, static_cast<int>(std::size(board->gaps)));
  const pid_t child = fork();
  if (child == 0) {
    play(url, *board, 1, rounds);
    _exit(0);
  }
  play(url, *board, 0, rounds);
  waitpid(child, nullptr, 0);
  const std::vector<double> gaps(board->gaps, board->gaps + board->rounds);
  report.add({.name = "hand_off",
              .what = "hand-off between two processes, p50 in us",
              .values = {quantile(gaps, 0.5)},
              .unit = " us",
              .bar = Bar{Bar::Side::at_most, 100},
              .detail = format("p99 %.0f, p99.9 %.0f us; each process on a CPU of its own",
                               quantile(gaps, 0.99), quantile(gaps, 0.999)),
              .figures = {{"p50_us", quantile(gaps, 0.5)},
                          {"p99_us", quantile(gaps, 0.99)},
                          {"p999_us", quantile(gaps, 0.999)}}});
}

// ---- Leases ------------------------------------------------------------------------------------

struct LeaseCost {
  double megabytes = 0;
  double percent = 0;
  int lost = 0;
};

LeaseCost cost_of_leases(const std::string& directory, int count, int seconds) {
  Client client = Client::open("sqlite://" + directory + "/leases.db").value();
  const double before_mb = resident_mb();
  std::vector<Lease> leases;
  for (int i = 0; i < count; ++i) {
    auto mutex = client.mutex("lease-" + std::to_string(i));  // ttl 30 s, the default
    leases.push_back(mutex.try_acquire().value());
  }
  LeaseCost cost{.megabytes = resident_mb() - before_mb};
  const double before_cpu = cpu_seconds(getpid());
  const auto begin = BootClock::now();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  cost.percent =
      (cpu_seconds(getpid()) - before_cpu) / Seconds(BootClock::now() - begin).count() * 100;
  cost.megabytes = std::max(cost.megabytes, resident_mb() - before_mb);
  for (const Lease& lease : leases) cost.lost += lease.held() ? 0 : 1;
  return cost;
}

void measure_leases(const std::string& directory, const Options& options, Report& report) {
  Curve::Series cpu{.name = "Holdfast", .points = {}};
  Curve::Series memory = cpu;
  for (const int count : {options.leases / 100, options.leases / 10, options.leases}) {
    if (count == 0) continue;
    report.progress(format("%d leases for %d s", count, options.seconds));
    const LeaseCost cost =
        in_process(kAnyCpu, [&] { return cost_of_leases(directory, count, options.seconds); });
    cpu.points.push_back({.x = static_cast<double>(count), .values = {cost.percent}});
    memory.points.push_back({.x = static_cast<double>(count), .values = {cost.megabytes}});
    if (count < options.leases) continue;
    report.add({.name = "renewal",
                .what = format("CPU for renewal of %d leases (of one core)", count),
                .values = {cost.percent},
                .unit = "%",
                .bar = Bar{Bar::Side::at_most, 10},
                .detail = format("ttl 30 s, over %d s: %.0f MB, %d lost", options.seconds,
                                 cost.megabytes, cost.lost),
                .figures = {{"megabytes", cost.megabytes}, {"lost", cost.lost}}});
  }
  report.add(Curve{.name = "held_cpu",
                   .what = "CPU for renewal, of one core",
                   .x_what = "held leases",
                   .unit = "%",
                   .series = {cpu}});
  report.add(Curve{.name = "held_memory",
                   .what = "memory of the client for held leases",
                   .x_what = "held leases",
                   .unit = "MB",
                   .series = {memory}});
}

// ---- Peers -------------------------------------------------------------------------------------

void measure_peers(const std::string& directory, const Options& options, Report& report) {
  constexpr const char* kBare = "bare SQLite";
  League league(
      {.span = options.span, .warm_up = options.span / 2},
      {.url = "sqlite://" + directory + "/peers.db"},
      {{.name = "Holdfast", .role = Role::ours, .command = {"/proc/self/exe", "worker"}},
       {.name = kBare, .role = Role::raw, .command = {"/proc/self/exe", "bare-worker"}},
       {.name = "flock(2)", .role = Role::peer, .command = {"/proc/self/exe", "flock-worker"}}},
      report);
  league.pairs("peer_pairs_1", "1 worker", "threads", 1, {{kBare, {Bar::Side::at_least, 0.7}}});
  league.contest({.name = "peer_hold",
                  .what = "8 processes, hold 1 ms, pause 2 ms",
                  .hold_us = 1000,
                  .pause_us = 2000,
                  .gap_claims = {{"", {Bar::Side::at_most, 100}}}});
  league.contest({.name = "peer_hot", .what = "8 processes, no hold, no pause"});
}

constexpr const char* kUsage = R"(usage: bench_embedded [OPTIONS]
  --dir DIR          where the data lies (default /dev/shm)
  --pairs N          of a repetition (default 20000)
  --hand-offs N      between two processes (default 4000)
  --leases N         held at the same time (default 100000; 0: none)
  --seconds S        how long they are held (default 20)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::atoi(argv[++i]) : 0; };
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--help" || argument == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (argument == "--quick") {
      options.pairs = options.leases = 1000;
      options.hand_offs = 200;
      options.seconds = 1;
      options.span = Seconds(0.1);
    } else if (argument == "--dir" && i + 1 < argc) {
      options.directory = argv[++i];
    } else if (argument == "--pairs") {
      options.pairs = number();
    } else if (argument == "--hand-offs") {
      options.hand_offs = number();
    } else if (argument == "--leases") {
      options.leases = number();
    } else if (argument == "--seconds") {
      options.seconds = number();
    } else {
      std::fputs(kUsage, stderr);
      std::exit(64);
    }
  }
  return options;
}

void measure(const Options& options, const std::string& directory) {
  Report report(options.json);
  report.open(format("The embedded engine, data in %s", options.directory.c_str()));
  // First, while this process has no threads: it forks, and is pinned meanwhile.
  const std::vector<int> cpus = allowed_cpus();
  measure_hand_off(directory, options.hand_offs, report);
  pin_to_cpus(cpus);
  measure_peers(directory, options, report);
  if (options.leases > 0) measure_leases(directory, options, report);
  measure_pairs(directory, options.pairs, report);
  report.close();
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;  // NOLINT(google-build-using-namespace)
  if (argc == 3) {
    const std::string_view role = argv[1];
    if (role == "worker") return be_our_worker(argv[2]);
    if (role == "bare-worker") return be_bare_worker(argv[2]);
    if (role == "flock-worker") return be_flock_worker(argv[2]);
  }
  const Options options = parse(argc, argv);
  std::string directory = options.directory + "/holdfast-bench-XXXXXX";
  if (!mkdtemp(directory.data())) {
    std::perror(directory.c_str());
    return 1;
  }
  int status = 0;
  try {
    measure(options, directory);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_embedded: %s\n", error.what());
    status = 1;
  }
  std::filesystem::remove_all(directory);
  return status;
}
