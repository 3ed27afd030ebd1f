// bench_instructions: how many instructions an uncontended acquire + release takes in the client, per
// engine, counted by callgrind: a figure that a busy machine does not change. Against a stored
// baseline it shows what a commit made slower.
//
// Two runs with different numbers of pairs, of which the difference counts: start-up is not in it. How
// often a client looks for an answer before it sleeps depends on the server, so the least of several
// runs is taken.
#include <holdfast/holdfast.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
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
constexpr int kFew = 50;
constexpr int kMany = 250;
constexpr int kRuns = 3;

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

int do_pairs(const std::string& url, int count) {
  Client client = Client::open(url).value();
  Mutex mutex = client.mutex("pair");
  for (int i = 0; i < count; ++i) mutex.acquire().value().release().value();
  return 0;
}

double instructions(const std::string& url, int pairs, const std::filesystem::path& folder) {
  const std::filesystem::path out = folder / "callgrind.out";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const pid_t child = fork();
  if (child == 0) {
    const std::string file = "--callgrind-out-file=" + out.string();
    const std::string count = std::to_string(pairs);
    execlp("valgrind", "valgrind", "--quiet", "--tool=callgrind", file.c_str(), self.c_str(),
           "pairs", url.c_str(), count.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("valgrind failed (is it installed?)");
  std::ifstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    for (const char* key : {"summary: ", "totals: "}) {
      if (line.starts_with(key)) return std::stod(line.substr(std::string_view(key).size()));
    }
  }
  throw std::runtime_error("callgrind counted nothing");
}

double per_pair(const Engine& engine) {
  const Place place = engine.place();
  const test::TempDir folder;
  double few = 1e300, many = 1e300;
  for (int i = 0; i < kRuns; ++i) {
    few = std::min(few, instructions(place.url, kFew, folder.path()));
    many = std::min(many, instructions(place.url, kMany, folder.path()));
  }
  return (many - few) / (kMany - kFew);
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

int run(const std::string& file, bool update, const std::vector<std::string>& names) {
  Json baseline = Json::object();
  if (std::ifstream input(file); input) baseline = Json::parse(input);
  bool all_well = true;
  for (const Engine& engine : engines()) {
    if (!names.empty() && std::ranges::find(names, engine.name) == names.end()) continue;
    const double now = per_pair(engine);
    all_well = judge(engine.name, now, baseline) && all_well;
    std::fflush(stdout);
    if (update) baseline[engine.name] = static_cast<int>(now);
  }
  if (update) {
    std::ofstream output(file);
    if (!(output << baseline.dump(2) << '\n' << std::flush)) {
      throw std::runtime_error("cannot write " + file);
    }
    return 0;
  }
  return all_well ? 0 : 1;
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;  // NOLINT(google-build-using-namespace)
  std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 3 && words[0] == "pairs") return do_pairs(words[1], std::stoi(words[2]));
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
