// A hundred nights: three machines run a job each night, once, whatever happens to them.
//
// Real are the command, one process per machine and night with its guards; the servers; the kills (SIGKILL, SIGSTOP
// for longer than the ttl) and the cuts (a proxy per machine that swallows everything, instead of a network namespace,
// which not everybody may make). What is simulated: the nights do not last. The clocks of the machines and of the
// server are set by a preloaded library (movable_clock.h), so that it is 02:30 again at once, and the job takes 20 ms,
// not 1 s. Neither changes what is tested: the order of steps, and which clock says what.
//
// Half of the nights are around the beginning of summer time in Berlin, where 02:30 does not exist once, half around
// its end, where it comes twice and cron may come twice, too. Machines differ by 0, 2 s or 2 h; those that are wrong
// come at another time. One fault per night at most, and then the first machine comes once more, so that somebody is
// left to do the job: those that are two hours ahead of the server came too early.
//
// HOLDFAST_NIGHTS: how many, if not a hundred. HOLDFAST_SEED: which.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "cli_fixture.h"
#include "etcd_server.h"
#include "mariadb_server.h"
#include "movable_clock.h"
#include "postgres_server.h"
#include "proxy.h"
#include "redis_server.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using Moment = std::chrono::sys_time<std::chrono::microseconds>;
using Micros = std::chrono::microseconds;

constexpr std::chrono::milliseconds kTtl = 1s;
constexpr std::chrono::milliseconds kLongerThanTtl = 1300ms;
constexpr std::size_t kMachines = 3;

// When it is 02:30 in Berlin, for the first time if it is so twice; 03:00 where it never is.
std::vector<Moment> nights(std::size_t count) {
  std::vector<Moment> all;
  const auto add = [&](int year, unsigned month, bool ends, std::size_t more) {
    const std::chrono::sys_days change = std::chrono::year(year) / std::chrono::month(month) /
                                         std::chrono::Sunday[std::chrono::last];
    const std::chrono::sys_days first = change - std::chrono::days(more / 2);
    for (std::size_t i = 0; i < more; ++i) {
      const std::chrono::sys_days day = first + std::chrono::days(i);
      const bool summer = ends ? day <= change : day > change;
      const auto at = !ends && day == change ? 60min : summer ? 30min : 90min;
      all.push_back(Moment(day) + at);
    }
  };
  add(2027, 3, false, count - count / 2);
  add(2027, 10, true, count / 2);
  return all;
}

// Where the records are: a server whose clock can be moved, or none.
struct Store {
  std::string url;                       // of the server itself
  int port = 0;                          // 0: none
  std::function<MovableClock*()> clock;  // null: the machines' clocks decide
  std::shared_ptr<void> server;
};

template <class Server, class Options>
Store store_of(Options options) {
  auto server = std::make_shared<Server>(options);
  return {.url = server->url(),
          .port = server->port(),
          .clock = [raw = server.get()] { return &raw->clock(); },
          .server = server};
}

Store open_store(const std::string& engine, const std::string& directory) {
  if (engine == "redis") return store_of<RedisServer>(RedisOptions{.movable_clock = true});
  if (engine == "postgres") return store_of<PostgresServer>(PostgresOptions{.movable_clock = true});
  if (engine == "mysql") return store_of<MariadbServer>(MariadbOptions{.movable_clock = true});
  if (engine == "etcd") {
    auto server = std::make_shared<EtcdServer>();
    return {.url = server->url(), .port = server->port(), .clock = nullptr, .server = server};
  }
  return {
      .url = "sqlite://" + directory + "/locks.db", .port = 0, .clock = nullptr, .server = nullptr};
}

class Machine {
 public:
  Machine(const Store& store, const std::string& directory, std::size_t number)
      : label("m" + std::to_string(number)), clock(directory + "/clock-" + label), url(store.url) {
    if (store.port == 0) return;
    proxy = std::make_unique<Proxy>(store.port);
    const std::string port = ":" + std::to_string(store.port);
    url.replace(url.find(port), port.size(), ":" + std::to_string(proxy->port()));
  }

  const std::string label;
  MovableClock clock;
  std::string url;
  std::unique_ptr<Proxy> proxy;  // null: there is no network
};

void set_clock(MovableClock& clock, Moment moment) {
  const auto now = std::chrono::floor<Micros>(std::chrono::system_clock::now());
  clock.jump(moment - now - clock.offset());
}

enum class Trouble { none, killed, paused, cut, machine_jumps, server_jumps };

// The output of a night's processes.
struct Night {
  int ran = 0;  // told that they did it, and that it was recorded
  int done_already = 0;
  std::string errors;
};

class Nights : public CliTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    store_ = open_store(GetParam(), directory_);
    for (std::size_t i = 0; i < kMachines; ++i) {
      machines_.push_back(std::make_unique<Machine>(store_, directory_, i));
    }
  }

  std::size_t below(std::size_t limit) { return random_() % limit; }

  static ProcessOptions by(const MovableClock& clock) {
    ProcessOptions options;
    for (const std::string& variable : clock.environment()) {
      const std::size_t equals = variable.find('=');
      options.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
    return options;
  }

  // Cron on one machine, when its own clock says that it is time.
  Process begin(Machine& machine, Moment by_its_clock, std::size_t night) {
    set_clock(machine.clock, by_its_clock);
    const std::string line = std::to_string(night) + " " + machine.label;
    const std::string log = path("log");
    return start_plain(
        {HOLDFAST_BINARY,
         "--json",
         "--on",
         machine.url,
         "run",
         "nightly",
         "--once-per",
         "1d",
         "--at",
         "02:30",
         "--zone",
         "Europe/Berlin",
         "--ttl",
         "1s",
         "--wait",
         "20s",
         "--label",
         machine.label,
         "--",
         "sh",
         "-c",
         "echo began " + line + " >>" + log + "; sleep 0.02; echo ended " + line + " >>" + log},
        by(machine.clock));
  }

  bool has_line(const std::string& line) const {
    return read_all(path("log")).find(line + "\n") != std::string::npos;
  }

  // The machine on which the job of this night has begun; none if it does not soon.
  std::optional<std::size_t> find_runner(std::size_t night) const {
    const auto until = std::chrono::steady_clock::now() + 300ms;
    do {
      for (std::size_t i = 0; i < kMachines; ++i) {
        if (has_line("began " + std::to_string(night) + " " + machines_[i]->label)) return i;
      }
      std::this_thread::sleep_for(1ms);
    } while (std::chrono::steady_clock::now() < until);
    return std::nullopt;
  }

  // Some time during the job, or about when its end is recorded.
  void hurt(Trouble trouble, Machine& machine, Process& process, std::size_t night) {
    if (below(2) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(below(20'000)));
    } else {
      const std::string line = "ended " + std::to_string(night) + " " + machine.label;
      static_cast<void>(eventually([&] { return has_line(line) || !process.running(); }));
      std::this_thread::sleep_for(std::chrono::microseconds(below(3000)));
    }
    constexpr Micros kJumps[] = {2s, -2s, 2h, -2h};
    const Micros jump = kJumps[below(4)];
    if (!process.running() && trouble <= Trouble::paused) return;
    switch (trouble) {
      case Trouble::none: break;
      case Trouble::killed: process.kill(SIGKILL); break;
      case Trouble::paused:
        process.kill(SIGSTOP);
        std::this_thread::sleep_for(kLongerThanTtl);
        process.kill(SIGCONT);
        break;
      case Trouble::cut:
        machine.proxy->silence(true);
        std::this_thread::sleep_for(kLongerThanTtl);
        machine.proxy->silence(false);
        break;
      case Trouble::machine_jumps: machine.clock.jump(jump); break;
      case Trouble::server_jumps: store_.clock()->jump(jump); break;
    }
  }

  Trouble draw_trouble() {
    switch (below(20)) {
      case 0:
      case 1: return Trouble::killed;
      case 2: return Trouble::paused;
      case 3: return store_.port != 0 ? Trouble::cut : Trouble::killed;
      case 4:
      case 5: return Trouble::machine_jumps;
      case 6: return store_.clock ? Trouble::server_jumps : Trouble::machine_jumps;
      default: return Trouble::none;
    }
  }

  void add(Night& night, Process& process) {
    const Output output = process.wait();
    night.errors += output.err;
    const nlohmann::json report = nlohmann::json::parse(output.out, nullptr, false);
    if (!report.is_object() || !report.contains("once")) {
      night.errors += "status " + std::to_string(output.status) + ": " + output.out + "\n";
      return;
    }
    night.ran += report["once"] == "ran" ? 1 : 0;
    night.done_already += report["once"] == "done_already" ? 1 : 0;
  }

  struct Arrival {
    Machine* machine;
    Moment at;
  };
  // By their true times: a machine whose clock is ahead comes too early by as much.
  std::vector<Arrival> draw_arrivals(std::size_t number, Moment true_time) {
    std::vector<Arrival> arrivals;
    constexpr Micros kAhead[] = {0s, 0s, -2s, 2h, -2h};
    for (const auto& machine : machines_) {
      // The first is always right, or a night might pass with machines that come too early only.
      Micros ahead = machine == machines_.front() ? Micros(0) : kAhead[below(std::size(kAhead))];
      // One that comes 2 s too early waits as long, really.
      if (machine == machines_.back() && number % 50 == 7) ahead = 2s;
      arrivals.push_back({machine.get(), true_time - ahead + Micros(below(50'000))});
    }
    std::ranges::sort(arrivals, {}, &Arrival::at);
    return arrivals;
  }

  // Those who come at about the same time contend. For those who come seconds later it is not yet so late.
  static bool come_together(const Arrival& one, const Arrival& other) {
    return other.at - one.at < 1s;
  }

  Night spend(std::size_t number, Moment true_time, Trouble trouble) {
    const std::vector<Arrival> arrivals = draw_arrivals(number, true_time);
    std::map<const Machine*, Process> processes;
    Night night;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      const auto& [machine, at] = arrivals[i];
      if (i == 0 || !come_together(arrivals[i - 1], arrivals[i])) {
        for (auto& [owner, process] : processes) {
          EXPECT_TRUE(eventually([&, &running = process] { return !running.running(); }));
        }
        if (store_.clock) set_clock(*store_.clock(), at);
      }
      processes.emplace(machine, begin(*machine, true_time + Micros(below(50'000)), number));
      if (i + 1 < arrivals.size() && come_together(arrivals[i], arrivals[i + 1])) continue;
      const std::optional<std::size_t> runner =
          trouble == Trouble::none ? std::nullopt : find_runner(number);
      if (!runner) continue;
      hurt(trouble, *machines_[*runner], processes.at(machines_[*runner].get()), number);
      trouble = Trouble::none;
    }
    for (auto& [owner, process] : processes) add(night, process);
    return night;
  }

  // The first machine once more, an hour later: cron at the second 02:30 of a night, or after a failure.
  void come_again(Night& night, std::size_t number, Moment true_time) {
    if (store_.clock) set_clock(*store_.clock(), true_time + 1h);
    Process later = begin(*machines_.front(), true_time + 1h, number);
    add(night, later);
  }

  std::size_t lines(const std::string& what, std::size_t night) const {
    const std::string log = read_all(path("log"));
    const std::string wanted = what + " " + std::to_string(night) + " ";
    std::size_t count = 0;
    for (std::size_t at = log.find(wanted); at != std::string::npos; at = log.find(wanted, at + 1))
      ++count;
    return count;
  }

  nlohmann::json record() {
    const Output output =
        start_plain({HOLDFAST_BINARY, "--json", "--on", store_.url, "jobs"}).wait();
    const nlohmann::json jobs = nlohmann::json::parse(output.out, nullptr, false);
    return jobs.is_object() && jobs["jobs"].size() == 1 ? jobs["jobs"][0] : nlohmann::json();
  }

  const std::uint64_t seed_ = std::getenv("HOLDFAST_SEED")
                                  ? std::strtoull(std::getenv("HOLDFAST_SEED"), nullptr, 10)
                                  : std::random_device()();
  std::mt19937_64 random_{seed_};
  Store store_;
  std::vector<std::unique_ptr<Machine>> machines_;
};

std::string text_of(Moment moment) {
  const std::time_t time =
      std::chrono::floor<std::chrono::seconds>(moment).time_since_epoch().count();
  std::tm broken_down{};
  gmtime_r(&time, &broken_down);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000Z", &broken_down);
  return text;
}

TEST_P(Nights, EveryNightExactlyOneSuccessIsRecorded) {
  const char* const wanted = std::getenv("HOLDFAST_NIGHTS");
  const std::vector<Moment> all = nights(wanted ? std::strtoull(wanted, nullptr, 10) : 100);
  std::size_t more = 0;
  int troubled = 0;
  int taken_over = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // A machine that comes two hours too early by the server's clock finds the night before done.
    if (i == 0 || all[i] - all[i - 1] > 48h) {
      Night before;
      come_again(before, all.size() + i, all[i] - 24h);
      ASSERT_EQ(before.ran, 1) << before.errors;
    }
    const Trouble trouble = draw_trouble();
    SCOPED_TRACE("night " + std::to_string(i) + " at " + text_of(all[i]) + ", trouble " +
                 std::to_string(static_cast<int>(trouble)) +
                 ", HOLDFAST_SEED=" + std::to_string(seed_));
    Night night = spend(i, all[i], trouble);
    // The others may have come too early, so that nobody was left to take over.
    const bool hurt_somebody = trouble != Trouble::none && trouble != Trouble::machine_jumps;
    if (hurt_somebody) come_again(night, i, all[i]);
    if (i % 10 == 0) {
      const int already = night.done_already;
      come_again(night, i, all[i]);
      EXPECT_EQ(night.done_already, already + 1) << night.errors;
    }
    const nlohmann::json job = record();
    ASSERT_TRUE(job.is_object());
    ASSERT_EQ(job["state"], "done") << job << night.errors;
    ASSERT_EQ(job["period_start"], text_of(all[i])) << job << night.errors;
    const std::size_t completed = lines("ended", i);
    const int attempts = job["attempt"];
    EXPECT_LE(night.ran, 1) << night.errors;
    if (!hurt_somebody) {
      EXPECT_EQ(night.ran, 1) << night.errors;
      EXPECT_EQ(completed, 1U) << night.errors;
      EXPECT_EQ(attempts, 1) << night.errors;
    } else {
      // At worst one more, and it is said.
      ++troubled;
      EXPECT_GE(completed, 1U) << night.errors;
      EXPECT_LE(completed, 2U) << night.errors;
      EXPECT_LE(attempts, 2) << night.errors;
      if (attempts == 2) {
        ++taken_over;
        EXPECT_NE(night.errors.find("has no end"), std::string::npos) << night.errors;
      }
      more += completed - 1;
    }
    if (HasFailure()) break;
  }
  std::printf(
      "[ nights   ] %s: %zu nights, %d with a crash, a pause, a cut or a server's clock that "
      "jumped; %d runs were "
      "taken over, %zu times the work was done once more\n",
      GetParam().c_str(), all.size(), troubled, taken_over, more);
  // Else the faults hit nobody.
  EXPECT_TRUE(taken_over > 0 || all.size() < 100);
}

INSTANTIATE_TEST_SUITE_P(Engines, Nights,
                         testing::Values("sqlite", "redis", "postgres", "mysql", "etcd"),
                         [](const auto& engine) { return engine.param; });

}  // namespace
}  // namespace holdfast::test
