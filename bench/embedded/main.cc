// The embedded engine beside bare SQLite, in one run:
//   pairs     uncontended acquire + release through the public API, against the same two
//             prepared statements run bare on a file with the same settings
//   hand-off  from release in one process to the return of acquire in another
//   crowd     the same with more and more who wait
//   held      what N held leases cost: memory, and CPU of their renewal
//   peers     the workloads that every group has, beside bare SQLite and flock(2)
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
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "arguments.h"
#include "bare.h"
#include "crowd.h"
#include "data_folder.h"
#include "held.h"
#include "our_worker.h"
#include "process.h"
#include "report.h"
#include "samples.h"
#include "standard.h"
#include "workers.h"

namespace holdfast::bench {

namespace {

struct Plan : BasicPlan {
  int pairs = 20000;
  int hand_offs = 4000;
  int leases = 100000;
  int waiters = 1000;
  Seconds held_span{11};

  // A smoke run: everything happens once and shortly. Its figures mean little.
  void make_quick() {
    repetitions = 1;
    span = Seconds(0.1);
    pairs = leases = 1000;
    hand_offs = 200;
    waiters = 64;
    held_span = Seconds(1);
  }
};

// Of a file in the folder, as durable as the run wants it.
std::string url_of(const std::string& directory, const std::string& file) {
  return "sqlite://" + directory + "/" + file + (on_disk() ? "?sync=full" : "");
}

// ---- Pairs -------------------------------------------------------------------------------------

template <class F>
double rate(int count, F work) {
  const auto begin = BootClock::now();
  work();
  return count / Seconds(BootClock::now() - begin).count();
}

void measure_pairs(const std::string& directory, const Plan& plan, Report& report) {
  // Synchronous commits take their time.
  const int count = on_disk() ? plan.pairs / 20 : plan.pairs;
  Bare bare(directory + "/bare.db");
  Client client = Client::open(url_of(directory, "pairs.db")).value();
  auto mutex = client.mutex("pair");
  const auto ours = [&](int pairs) {
    for (int i = 0; i < pairs; ++i) mutex.try_acquire().value().release().value();
  };
  bare.run(count / 10);
  ours(count / 10);
  std::vector<double> bares, oursies, ratios;
  for (int i = 0; i < plan.repetitions; ++i) {
    report.progress(format("pairs: repetition %d of %d", i + 1, plan.repetitions));
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
  const std::string url = url_of(directory, "hand-off.db");
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

// ---- Peers -------------------------------------------------------------------------------------

void measure_peers(const std::string& directory, const Plan& plan, Report& report) {
  constexpr const char* kBare = "bare SQLite";
  League league(
      {.repetitions = plan.repetitions, .span = plan.span, .warm_up = plan.span / 2},
      {.url = url_of(directory, "peers.db")},
      {{.name = "Holdfast", .role = Role::ours, .command = {"/proc/self/exe", "worker"}},
       {.name = kBare, .role = Role::raw, .command = {"/proc/self/exe", "bare-worker"}},
       {.name = "flock(2)", .role = Role::peer, .command = {"/proc/self/exe", "flock-worker"}}},
      report);
  // There is no server, so any CPU is its own.
  play_standard(league, {.two_cpus = false,
                         .same_cpu = {{kBare, {Bar::Side::at_least, 0.7}}},
                         .hold_gap = {{"", {Bar::Side::at_most, 100}}}});
}

constexpr const char* kUsage = R"(usage: bench_embedded [OPTIONS]
  --only NAME        one workload: hand-off, peers, crowd, held, pairs
  --repetitions N    1 to 100 (default 3)
  --seconds S        of one side in one repetition (default 0.5)
  --pairs N          of a repetition beside the bare statements (default 20000)
  --hand-offs N      between two processes (default 4000)
  --leases N         held at the same time (default 100000)
  --waiters N        in the crowd (default 1000; a multiple of 8)
  --quick            a smoke run; its figures mean little
  --json             one JSON object instead of the table
)";

Plan parse(int argc, char** argv) {
  Plan plan;
  const auto whole = [](int& to) { return [&to](double value) { to = static_cast<int>(value); }; };
  Arguments(kUsage)
      .basic(plan, {"hand-off", "peers", "crowd", "held", "pairs"})
      .flag("--quick", [&] { plan.make_quick(); })
      .number("--pairs", 100, 1e7, whole(plan.pairs))
      .number("--hand-offs", 10, 1 << 16, whole(plan.hand_offs))
      .number("--leases", 100, 1e7, whole(plan.leases))
      .number("--waiters", 16, 8000, [&](double n) { plan.waiters = static_cast<int>(n) / 8 * 8; })
      .parse(argc, argv);
  return plan;
}

int measure(const Plan& plan, const std::string& directory) {
  Report report(plan.json);
  report.open(format("The embedded engine, %d repetitions", plan.repetitions));
  // First, while this process has no threads: it forks, and is pinned meanwhile.
  const std::vector<int> cpus = allowed_cpus();
  const auto attempt = [&](const char* name, const std::function<void()>& workload) {
    if (plan.wants(name)) report.attempt(name, workload);
  };
  attempt("hand-off", [&] { measure_hand_off(directory, plan.hand_offs, report); });
  pin_to_cpus(cpus);
  attempt("peers", [&] { measure_peers(directory, plan, report); });
  attempt("crowd", [&] {
    measure_crowd({.most = plan.waiters, .repetitions = plan.repetitions, .span = plan.span},
                  {"/proc/self/exe", "worker", url_of(directory, "crowd.db")}, report);
  });
  attempt("held", [&] {
    measure_held({.most = plan.leases, .span = plan.held_span, .most_percent = 10},
                 {.url = url_of(directory, "leases.db")}, report);
  });
  attempt("pairs", [&] { measure_pairs(directory, plan, report); });
  return report.close();
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
  const Plan plan = parse(argc, argv);
  try {
    const DataFolder folder;
    return measure(plan, folder.path());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_embedded: %s\n", error.what());
    return 1;
  }
}
