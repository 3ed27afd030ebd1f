// holdfast bench: how fast locks are taken, given back and handed over.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "bench/board.h"
#include "bench/report.h"
#include "bench/workers.h"
#include "commands.h"
#include "duration.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kBenchExamples = R"(Examples:
  holdfast bench                                      one thread, one name: acquire and release
  holdfast bench --workers 8 --hold 1ms               eight threads contend for one name
  holdfast bench --processes 2                        hand-off between two processes
  holdfast bench --in-flight 100 --names 100 --json   asynchronous claims on one thread
  holdfast bench --mode permits --permits 4 --workers 8

Each worker takes the name number (worker modulo names), so with as many names as workers nobody
waits. "hand-off" is from release called to acquire returned in the next worker, which was waiting
already. The names are holdfast-bench-0, -1, …: measure on a store of your own (--on) if others use
the default one.)";

struct BenchOptions {
  BenchPlan plan;
  unsigned seconds = 5;
  std::string mode = "exclusive";
  std::string hold;
  std::string ttl = "30s";
};

Result<BenchPlan> checked(const BenchOptions& options) {
  BenchPlan plan = options.plan;
  plan.run_for = std::chrono::seconds(options.seconds);
  if (options.mode == "shared") plan.mode = Mode::shared;
  if (options.mode == "permits") plan.mode = Mode::permit;
  Result<Duration> ttl = parse_duration("--ttl", options.ttl);
  if (!ttl) return ttl.failure();
  plan.ttl = *ttl;
  if (options.hold.empty()) return plan;
  if (plan.in_flight > 0) {
    return Failure(Code::invalid_argument,
                   "--hold works with --workers only: to hold means to sleep there");
  }
  Result<Duration> hold = parse_duration("--hold", options.hold);
  if (!hold) return hold.failure();
  plan.hold = *hold;
  return plan;
}

class Bench {
 public:
  Bench(const Session& session, const BenchPlan& plan)
      : session_(session),
        plan_(plan),
        board_(plan.processes * plan.stats_per_process(), plan.names) {}

  int run() {
    // The children inherit the mask: Ctrl-C is the parent's, who tells them by the board, so that
    // every claim ends properly.
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
    for (std::size_t i = 0; i < plan_.processes; ++i) start_process(i);
    wait_until_ready();
    const BootTime begin = start_clock();
    watch(begin);
    const Duration took = std::min<Duration>(BootClock::now() - begin, plan_.run_for);
    for (const pid_t child : children_) reap(child);
    if (board_.state().failed) {
      return session_.fail(Failure(board_.state().code, board_.state().message));
    }
    if (signal_ != 0) return session_.interrupted_by(signal_);
    print_report(session_, plan_, board_, took);
    return kOk;
  }

 private:
  void start_process(std::size_t number) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
      board_.fail(Failure(Code::unreachable, "cannot start so many processes"));
    } else if (child > 0) {
      children_.push_back(child);
    } else {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) be_process(number);
      _exit(0);
    }
  }

  void be_process(std::size_t number) {
    try {
      Result<Client> client = session_.open();
      if (!client) return board_.fail(client.failure());
      if (const Result<void> there = client->ping(); !there) return board_.fail(there.failure());
      ++board_.state().ready;
      while (board_.state().begin == 0 && !board_.state().stop) std::this_thread::sleep_for(1ms);
      if (!board_.state().stop) run_workers(*client, plan_, board_, number);
    } catch (const LockError& error) {
      board_.fail(error.failure());
    } catch (const std::exception& error) {  // No more threads, no more memory.
      board_.fail(Failure(Code::unreachable, error.what()));
    }
  }

  void wait_until_ready() {
    while (board_.state().ready < static_cast<int>(plan_.processes) && !board_.state().stop) {
      pause(1ms);
    }
  }

  BootTime start_clock() {
    const BootTime begin = BootClock::now();
    board_.state().end = (begin + plan_.run_for).time_since_epoch().count();
    board_.state().begin = begin.time_since_epoch().count();
    return begin;
  }

  void watch(BootTime begin) {
    const bool show = !session_.json && isatty(STDERR_FILENO) == 1;
    while (!board_.over(BootClock::now())) {
      const Duration left = begin + plan_.run_for - BootClock::now();
      pause(std::min<Duration>(200ms, std::max<Duration>(left, 1ms)));
      if (show) print_progress(board_, BootClock::now() - begin, plan_.run_for);
    }
    if (show) std::fputs("\r\033[K", stderr);
  }

  // Sleeps, unless Ctrl-C comes: then everything stops.
  void pause(Duration span) {
    const timespec time{.tv_sec = span / 1s, .tv_nsec = (span % 1s).count()};
    const int signal = sigtimedwait(&signals_, nullptr, &time);
    if (signal <= 0) return;
    signal_ = signal;
    board_.state().stop = true;
  }

  void reap(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status)) board_.fail(Failure(Code::unreachable, "a worker process was killed"));
  }

  const Session& session_;
  const BenchPlan plan_;
  Board board_;
  sigset_t signals_{};
  std::vector<pid_t> children_;
  int signal_ = 0;
};

void add_options(CLI::App& command, BenchOptions& options) {
  const auto number = [&](const char* name, auto& value, const char* help, unsigned least,
                          unsigned most) {
    return command.add_option(name, value, help)
        ->type_name("N")
        ->check(CLI::Range(least, most).description(""))
        ->capture_default_str();
  };
  auto* workers = number("--workers", options.plan.workers, "Blocking threads", 1, 10'000);
  number("--in-flight", options.plan.in_flight, "Asynchronous claims instead of threads", 1,
         100'000)
      ->excludes(workers)
      ->default_str("");
  number("--processes", options.plan.processes, "Processes with so many workers each", 1, 1000);
  number("--names", options.plan.names, "Names to contend for", 1, 1'000'000);
  number("--seconds", options.seconds, "How long to measure", 1, 86'400);
  command.add_option("--mode", options.mode, "exclusive, shared or permits")
      ->type_name("MODE")
      ->check(CLI::IsMember({"exclusive", "shared", "permits"}).description(""))
      ->capture_default_str();
  number("--permits", options.plan.permits, "Permits per name (--mode permits)", 1, 1'000'000);
  command.add_option("--hold", options.hold, "How long to hold the lock (default: not at all)")
      ->type_name("DURATION");
  command.add_option("--ttl", options.ttl, "The ttl of the locks")
      ->type_name("DURATION")
      ->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("bench", "Measure how fast locks are");
  auto options = std::make_shared<BenchOptions>();
  add_options(*command, *options);
  command->footer(kBenchExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] {
      Result<BenchPlan> plan = checked(*options);
      if (!plan) return invocation.session.fail(plan.failure());
      return Bench(invocation.session, *plan).run();
    };
  });
}

}  // namespace holdfast::cli
