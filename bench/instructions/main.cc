// bench_instructions: how many instructions an uncontended acquire + release takes in the client, per
// engine, counted by callgrind: a figure that a busy machine does not change. Against a stored
// baseline it shows what a commit made slower.
//
// One run does blocks of pairs; callgrind writes a file of its own for each, so that start-up is in
// none, and the least of them is taken: what disturbs (a heartbeat, one more look for an answer) only
// adds. Client and server share a CPU: who looks for an answer lets the server run first, and has it
// at the first look, not at the second or third as elsewhere.
#include <holdfast/holdfast.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "etcd_server.h"
#include "mariadb_server.h"
#include "memcached_server.h"
#include "postgres_server.h"
#include "process.h"
#include "redis_server.h"
#include "temp_dir.h"
#include "zookeeper_server.h"

namespace holdfast::bench {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUsage = R"(usage: bench_instructions BASELINE.json [--update] [ENGINE…]
  ENGINE: sqlite, redis, redlock, memcached, zookeeper, etcd, mysql, postgres (default: all)
)";
constexpr double kTolerance = 0.05;
constexpr int kPairs = 20;   // of a block
constexpr int kBlocks = 12;  // the first warm up
constexpr int kWarmUp = 2;

// A server and the URL of a lock on it; the server ends with it.
struct Place {
  std::string url;
  std::shared_ptr<void> server;
};

template <class S>
Place on(std::shared_ptr<S> server) {
  return {server->url(), server};
}

Place on_five() {
  auto all = std::make_shared<std::vector<std::unique_ptr<test::RedisServer>>>();
  std::string url = "redlock://";
  for (int i = 0; i < 5; ++i) {
    const std::string one = all->emplace_back(std::make_unique<test::RedisServer>())->url();
    url += (i > 0 ? "," : "") + one.substr(one.find("://") + 3);
  }
  return {url, all};
}

struct Engine {
  const char* name;
  std::function<Place()> place;
};

std::vector<Engine> engines() {
  return {
      {"sqlite",
       [] {
         auto folder = std::make_shared<test::TempDir>();
         return Place{"sqlite://" + (folder->path() / "locks.db").string(), folder};
       }},
      {"redis", [] { return on(std::make_shared<test::RedisServer>()); }},
      {"redlock", &on_five},
      {"memcached", [] { return on(std::make_shared<test::MemcachedServer>()); }},
      {"zookeeper", [] { return on(std::make_shared<test::ZooKeeperServer>()); }},
      {"etcd", [] { return on(std::make_shared<test::EtcdServer>()); }},
      {"mysql", [] { return on(std::make_shared<test::MariadbServer>()); }},
      {"postgres", [] { return on(std::make_shared<test::PostgresServer>()); }},
  };
}

// callgrind begins a new file whenever this is called.
extern "C" [[gnu::noinline]] void holdfast_block_begins() { asm volatile(""); }

int do_blocks(const std::string& url) {
  Client client = Client::open(url).value();
  Mutex mutex = client.mutex("pair");
  for (int block = 0; block < kBlocks; ++block) {
    holdfast_block_begins();
    for (int i = 0; i < kPairs; ++i) mutex.acquire().value().release().value();
  }
  holdfast_block_begins();
  return 0;
}

void run_under_callgrind(const std::string& url, const std::filesystem::path& out) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const pid_t child = fork();
  if (child == 0) {
    const std::string file = "--callgrind-out-file=" + out.string();
    execlp("valgrind", "valgrind", "--quiet", "--tool=callgrind",
           "--dump-before=holdfast_block_begins", file.c_str(), self.c_str(), "blocks", url.c_str(),
           nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("valgrind failed (is it installed?)");
}

double instructions_in(const std::string& path) {
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view key : {"summary: ", "totals: "}) {
      if (line.starts_with(key)) return std::stod(line.substr(key.size()));
    }
  }
  throw std::runtime_error("callgrind counted nothing");
}

double per_pair(const Engine& engine) {
  const Place place = engine.place();
  const test::TempDir folder;
  const std::filesystem::path out = folder.path() / "callgrind";
  run_under_callgrind(place.url, out);
  double least = std::numeric_limits<double>::max();
  // The first file ends where the first block begins.
  for (int block = kWarmUp; block < kBlocks; ++block) {
    least = std::min(least, instructions_in(out.string() + "." + std::to_string(block + 2)));
  }
  return least / kPairs;
}

// Whether it is within the tolerance.
bool judge(const std::string& name, double now, const Json& baseline) {
  if (!baseline.contains(name)) {
    std::printf("    %-10s %8.0f instructions a pair; no baseline\n", name.c_str(), now);
    return true;
  }
  const double before = baseline.at(name).get<double>();
  const double change = now / before - 1;
  const char* words = change > kTolerance    ? "SLOWER"
                      : change < -kTolerance ? "faster: --update stores that"
                                             : "as before";
  std::printf("    %-10s %8.0f instructions a pair, %+5.1f %% of %.0f: %s\n", name.c_str(), now,
              change * 100, before, words);
  return change <= kTolerance;
}

// Whether it is as before. One engine that cannot be counted does not take the others with it.
bool check(const Engine& engine, Json& baseline, bool update) {
  try {
    double now = per_pair(engine);
    // Before anybody looks for a cause, it is counted again.
    const double before = baseline.value(engine.name, now);
    if (now > before * (1 + kTolerance)) now = std::min(now, per_pair(engine));
    const bool well = judge(engine.name, now, baseline);
    if (update) baseline[engine.name] = static_cast<int>(now);
    return well || update;
  } catch (const std::exception& error) {
    std::printf("    %-10s was not counted: %s\n", engine.name, error.what());
    return false;
  }
}

int run(const std::string& file, bool update, const std::vector<std::string>& names) {
  Json baseline = Json::object();
  if (std::ifstream input(file); input) baseline = Json::parse(input);
  bool all_well = true;
  pin_to_cpu(allowed_cpus().back());
  for (const Engine& engine : engines()) {
    if (!names.empty() && std::ranges::find(names, engine.name) == names.end()) continue;
    all_well = check(engine, baseline, update) && all_well;
    std::fflush(stdout);
  }
  if (update) {
    std::ofstream output(file);
    if (!(output << baseline.dump(2) << '\n' << std::flush)) {
      throw std::runtime_error("cannot write " + file);
    }
  }
  return all_well ? 0 : 1;
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;  // NOLINT(google-build-using-namespace)
  std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 2 && words[0] == "blocks") return do_blocks(words[1]);
    const bool update = std::erase(words, "--update") > 0;
    if (words.empty() || words[0].starts_with("-")) {
      std::fputs(kUsage, stderr);
      return 64;
    }
    return run(words[0], update, {words.begin() + 1, words.end()});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_instructions: %s\n", error.what());
    return 1;
  }
}
