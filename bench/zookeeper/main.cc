// bench_zookeeper: the ZooKeeper engine beside Curator's InterProcessMutex and beside bare requests,
// on servers of its own, one and three. Each ratio is of two numbers taken side by side in one
// repetition; the row's own is the median.
#include <memory>
#include <optional>
#include <sstream>

#include "data_folder.h"
#include "program.h"
#include "raw.h"
#include "serve.h"
#include "timing.h"
#include "zookeeper_server.h"

namespace holdfast::bench {

namespace {

using test::ZooKeeperEnsemble;
using test::ZooKeeperServer;

test::ZooKeeperOptions as_in_production() {
  test::ZooKeeperOptions options;
  options.tick_ms = 2000;
  if (on_disk()) options.properties = {"zookeeper.forceSync=yes"};
  // Tests want a JVM that starts quickly; here it should become fast.
  options.jvm = {"-XX:TieredStopAtLevel=4", "-Xmx1g"};
  return options;
}

template <class F>
double sum_of(const ZooKeeperServer& server, F counts) {
  std::istringstream lines(server.ask("mntr"));
  double sum = 0;
  for (std::string name, value; lines >> name && std::getline(lines, value);) {
    if (counts(name)) sum += std::stod(value);
  }
  return sum;
}

// Watches that fired, of all kinds.
double events_of(const ZooKeeperServer& server) {
  return sum_of(server, [](const std::string& name) {
    return name.starts_with("zk_sum_node_") && name.ends_with("_watch_count");
  });
}

double commands_of(const ZooKeeperServer& server) {
  return sum_of(server, [](const std::string& name) { return name == "zk_packets_received"; });
}

class One : public Servers {
 public:
  std::string url() const override { return server_.url(); }
  std::string single_url() const override { return server_.url(); }
  std::vector<pid_t> processes() const override { return {server_.pid()}; }
  double events() const override { return events_of(server_); }
  double commands() const override { return commands_of(server_); }

 private:
  ZooKeeperServer server_{as_in_production()};
};

class Several : public Servers {
 public:
  explicit Several(int count)
      : ensemble_({.count = count, .server = as_in_production()}), leader_(ensemble_.leader()) {}

  std::string url() const override { return ensemble_.url(); }
  std::string single_url() const override {
    return ensemble_.at((leader_ + 1) % ensemble_.size()).url();
  }
  std::vector<pid_t> processes() const override {
    std::vector<pid_t> all;
    for (std::size_t i = 0; i < ensemble_.size(); ++i) all.push_back(ensemble_.at(i).pid());
    return all;
  }
  double events() const override {
    double sum = 0;
    for (std::size_t i = 0; i < ensemble_.size(); ++i) sum += events_of(ensemble_.at(i));
    return sum;
  }
  double commands() const override {
    double sum = 0;
    for (std::size_t i = 0; i < ensemble_.size(); ++i) sum += commands_of(ensemble_.at(i));
    return sum;
  }

 private:
  mutable ZooKeeperEnsemble ensemble_;
  std::size_t leader_;
};

int be_raw_worker(const std::string& url) {
  const std::string host = url.substr(url.find("://") + 3);
  const std::size_t colon = host.rfind(':');
  std::optional<Raw> raw;
  return serve([&] { raw.emplace(host.substr(0, colon), std::stoi(host.substr(colon + 1))); },
               [&](const std::string& verb, std::istringstream& words) -> std::string {
                 if (verb == "pairs") {
                   std::string parent;
                   double seconds = 0;
                   words >> parent >> seconds;
                   parent = "/" + parent;
                   raw->make_parent(parent);
                   return time_pairs(seconds, [&] { raw->pair(parent); });
                 }
                 if (verb == "flight") {
                   int count = 0;
                   double seconds = 0;
                   words >> count >> seconds;
                   return format("%.1f", raw->flight(count, seconds));
                 }
                 return "what?";
               });
}

System system() {
  System system{.title = "ZooKeeper", .peer = "Curator", .raw_what = "create + delete"};
  const std::string class_path = HOLDFAST_CURATOR_CLASS_PATH;
  if (!class_path.empty()) {
    system.peer_command = {"java", "-Xmx256m", "-XX:+UseSerialGC",
                           "-cp",  class_path, "CuratorWorker"};
  }
  system.event_what = "watches that fired";
  system.pair_of_peer = 0.7;
  system.hand_off_of_peer = 0.7;
  system.name = "zookeeper";
  // At most 0.7 of its time.
  system.pair_claims = {{"curator", {Bar::Side::at_least, 1 / 0.7}}};
  system.gap_claims = {{"curator", {Bar::Side::at_most, 0.7}}};
  return system;
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;  // NOLINT(google-build-using-namespace)
  return run_program({.name = "bench_zookeeper",
                      .system = system(),
                      .start = [](int nodes) -> std::unique_ptr<Servers> {
                        if (nodes == 1) return std::make_unique<One>();
                        return std::make_unique<Several>(nodes);
                      },
                      .be_raw_worker = be_raw_worker},
                     argc, argv);
}
