// The embedded engine beside bare SQLite, in one run:
//   pairs     uncontended acquire + release through the public API, against the same two
//             prepared statements run bare on a file with the same settings
//   hand-off  from release in one process to the return of acquire in another
//   leases    what N held leases cost: memory, and CPU of their renewal
// Prints medians of interleaved repetitions, as a table or with --json.
//   bench_embedded [--json] [--dir DIR] [--pairs N] [--hand-offs N] [--leases N] [--seconds S]
#include <holdfast/holdfast.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using holdfast::BootClock;
using holdfast::Client;
using Seconds = std::chrono::duration<double>;

struct Options {
  bool json = false;
  std::string directory = "/dev/shm";
  int pairs = 20000;
  int hand_offs = 4000;
  int leases = 100000;
  int seconds = 30;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
}

void must(int code, const char* what) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
    std::fprintf(stderr, "%s: %s\n", what, sqlite3_errstr(code));
    std::exit(1);
  }
}

// ---- Pairs -------------------------------------------------------------------------------------

// The least that a lock table needs: take a free row and its next token; give it back by owner.
class BarePairs {
 public:
  explicit BarePairs(const std::string& path) {
    must(sqlite3_open(path.c_str(), &db_), "open");
    for (const char* sql :
         {"PRAGMA page_size = 1024", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL",
          "CREATE TABLE lock(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, token INTEGER NOT "
          "NULL, owner BLOB, expires INTEGER)",
          "INSERT INTO lock(name, token) VALUES(CAST('pair' AS BLOB), 0)"}) {
      must(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), sql);
    }
    prepare(
        "UPDATE lock SET owner = ?2, token = token + 1, expires = ?3 WHERE name = ?1 AND owner "
        "IS NULL RETURNING token",
        &take_);
    prepare("UPDATE lock SET owner = NULL WHERE name = ?1 AND owner = ?2", &give_);
  }
  ~BarePairs() {
    sqlite3_finalize(take_);
    sqlite3_finalize(give_);
    sqlite3_close(db_);
  }

  void run(int count) {
    char owner[16] = {};
    for (int i = 0; i < count; ++i) {
      std::memcpy(owner, &i, sizeof i);
      for (sqlite3_stmt* statement : {take_, give_}) {
        sqlite3_bind_blob(statement, 1, "pair", 4, SQLITE_STATIC);
        sqlite3_bind_blob(statement, 2, owner, sizeof owner, SQLITE_STATIC);
        if (statement == take_) {
          sqlite3_bind_int64(statement, 3, BootClock::now().time_since_epoch().count());
        }
        int code = 0;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        }
        must(code, "step");
        sqlite3_reset(statement);
      }
    }
  }

 private:
  void prepare(const char* sql, sqlite3_stmt** statement) {
    must(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, nullptr), sql);
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt* take_ = nullptr;
  sqlite3_stmt* give_ = nullptr;
};

template <class F>
double rate(int count, F work) {
  const auto begin = BootClock::now();
  work();
  return count / Seconds(BootClock::now() - begin).count();
}

struct PairResult {
  double bare = 0;
  double ours = 0;
  double ratio = 0;
};

PairResult measure_pairs(const std::string& directory, int count) {
  BarePairs bare(directory + "/bare.db");
  Client client = Client::open("sqlite://" + directory + "/pairs.db").value();
  auto mutex = client.mutex("pair");
  const auto ours = [&](int pairs) {
    for (int i = 0; i < pairs; ++i) mutex.try_acquire().value().release().value();
  };
  bare.run(count / 10);
  ours(count / 10);
  std::vector<double> bares, oursies, ratios;
  for (int repetition = 0; repetition < 5; ++repetition) {
    bares.push_back(rate(count, [&] { bare.run(count); }));
    oursies.push_back(rate(count, [&] { ours(count); }));
    ratios.push_back(oursies.back() / bares.back());
  }
  return {median(bares), median(oursies), median(ratios)};
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
void pin_to_cpu(int number) {
  cpu_set_t cpus{};
  CPU_ZERO(&cpus);
  CPU_SET(
      static_cast<std::size_t>(number) % static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)),
      &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
}

// Takes the lock again and again; each change of owner is one measured gap. Holds it until the
// other one waits, so that every release is a hand-off.
void play(const std::string& url, Board& board, int who, int rounds) {
  pin_to_cpu(who);
  Client client = Client::open(url).value();
  auto mutex = client.mutex("hand-off");
  for (;;) {
    holdfast::Lease lease = mutex.acquire().value();
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

std::vector<double> measure_hand_off(const std::string& directory, int rounds) {
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
  std::vector<double> gaps(board->gaps, board->gaps + board->rounds);
  std::sort(gaps.begin(), gaps.end());
  return gaps;
}

// ---- Leases ------------------------------------------------------------------------------------

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  file >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct LeaseResult {
  double megabytes = 0;
  double core_share = 0;
  int lost = 0;
};

LeaseResult measure_leases(const std::string& directory, int count, int seconds) {
  Client client = Client::open("sqlite://" + directory + "/leases.db").value();
  const double before_mb = resident_mb();
  std::vector<holdfast::Lease> leases;
  for (int i = 0; i < count; ++i) {
    auto mutex = client.mutex("lease-" + std::to_string(i));  // ttl 30 s, the default
    leases.push_back(mutex.try_acquire().value());
  }
  LeaseResult result{.megabytes = resident_mb() - before_mb};
  const double before_cpu = cpu_seconds();
  const auto begin = BootClock::now();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  result.core_share = (cpu_seconds() - before_cpu) / Seconds(BootClock::now() - begin).count();
  result.megabytes = std::max(result.megabytes, resident_mb() - before_mb);
  for (const holdfast::Lease& lease : leases) result.lost += lease.held() ? 0 : 1;
  return result;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::atoi(argv[++i]) : 0; };
    if (argument == "--json") {
      options.json = true;
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
      std::fprintf(stderr,
                   "usage: bench_embedded [--json] [--dir DIR] [--pairs N] [--hand-offs N] "
                   "[--leases N] [--seconds S]\n");
      std::exit(64);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::string directory = options.directory + "/holdfast-bench-XXXXXX";
  if (!mkdtemp(directory.data())) {
    std::perror(directory.c_str());
    return 1;
  }
  // First, while this process has no threads: it forks, and is pinned meanwhile.
  cpu_set_t all_cpus{};
  sched_getaffinity(0, sizeof all_cpus, &all_cpus);
  const std::vector<double> gaps = measure_hand_off(directory, options.hand_offs);
  sched_setaffinity(0, sizeof all_cpus, &all_cpus);
  const PairResult pairs = measure_pairs(directory, options.pairs);
  LeaseResult leases;
  if (options.leases > 0) leases = measure_leases(directory, options.leases, options.seconds);
  std::filesystem::remove_all(directory);

  if (options.json) {
    std::printf(
        "{\"pairs\":{\"bare_per_s\":%.0f,\"ours_per_s\":%.0f,\"ratio\":%.3f},"
        "\"hand_off_us\":{\"p50\":%.1f,\"p99\":%.1f,\"p999\":%.1f},"
        "\"leases\":{\"count\":%d,\"megabytes\":%.1f,\"core_share\":%.4f,\"lost\":%d}}\n",
        pairs.bare, pairs.ours, pairs.ratio, quantile(gaps, 0.5), quantile(gaps, 0.99),
        quantile(gaps, 0.999), options.leases, leases.megabytes, leases.core_share, leases.lost);
    return 0;
  }
  std::printf("uncontended pairs/s    bare SQLite %.0f, Holdfast %.0f, ratio %.2f (bar: 0.7)\n",
              pairs.bare, pairs.ours, pairs.ratio);
  std::printf("hand-off, 2 processes  p50 %.0f us, p99 %.0f us, p99.9 %.0f us (bar: p50 < 150)\n",
              quantile(gaps, 0.5), quantile(gaps, 0.99), quantile(gaps, 0.999));
  if (options.leases > 0) {
    std::printf(
        "%d leases held    %.0f MB, %.1f %% of a core for renewal, %d lost "
        "(bars: 100 MB, 10 %%, 0)\n",
        options.leases, leases.megabytes, leases.core_share * 100, leases.lost);
  }
  return 0;
}
