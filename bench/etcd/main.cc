// bench_etcd: the etcd engine beside the Mutex of etcd's Go package `concurrency` and beside bare
// requests, on servers of its own, one and three. Each ratio is of two numbers taken side by side in
// one repetition; the row's own is the median.
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>

#include "etcd_server.h"
#include "etcdctl_worker.h"
#include "http_get.h"
#include "program.h"
#include "raw.h"
#include "serve.h"
#include "timing.h"

namespace holdfast::bench {

namespace {

class EtcdServers : public Servers {
 public:
  explicit EtcdServers(int count) : server_({.count = count}), leader_(server_.leader()) {}

  std::string url() const override { return server_.url(); }
  std::string single_url() const override {
    return server_.url_of({server_.port((leader_ + 1) % server_.size())});
  }
  std::vector<pid_t> processes() const override {
    std::vector<pid_t> all;
    for (std::size_t i = 0; i < server_.size(); ++i) all.push_back(server_.pid(i));
    return all;
  }
  double events() const override { return sum_of("etcd_debugging_mvcc_events_total"); }
  double commands() const override { return sum_of("grpc_server_msg_received_total"); }

 private:
  // Of all members, with whatever labels.
  double sum_of(const std::string& name) const {
    double sum = 0;
    for (std::size_t i = 0; i < server_.size(); ++i) {
      std::istringstream lines(http_get(server_.port(i), "/metrics"));
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name)) sum += std::stod(line.substr(line.rfind(' ') + 1));
      }
    }
    return sum;
  }

  test::EtcdServer server_;
  std::size_t leader_;
};

int be_raw_worker(const std::string& url) {
  const std::string host = url.substr(url.find("://") + 3);
  const std::size_t colon = host.rfind(':');
  std::optional<Raw> raw;
  return serve([&] { raw.emplace(host.substr(0, colon), std::stoi(host.substr(colon + 1))); },
               [&](const std::string& verb, std::istringstream& words) -> std::string {
                 if (verb == "pairs") {
                   std::string key;
                   double seconds = 0;
                   words >> key >> seconds;
                   return time_pairs(seconds, [&] { raw->pair(key + "/raw"); });
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
  System system{.title = "etcd", .peer = "Go's Mutex", .raw_what = "Txn + delete"};
  const std::string program = HOLDFAST_ETCD_GO_WORKER;
  if (!program.empty()) system.peer_command = {program};
  system.event_what = "events that members sent to watchers";
  system.pair_of_raw = 1.05;
  system.hand_off_of_peer = 0.6;
  system.name = "etcd";
  system.programs = {{.name = "etcdctl lock",
                      .role = Role::peer,
                      .command = {"/proc/self/exe", "etcdctl-worker"}}};
  system.gap_claims = {{"go-mutex", {Bar::Side::at_most, 0.6}}};
  system.owner_claims = {{"", {Bar::Side::at_least, 700}}};
  return system;
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;  // NOLINT(google-build-using-namespace)
  const std::string_view role = argc == 3 ? argv[1] : "";
  if (role == "etcdctl-worker") return be_etcdctl_worker(argv[2]);
  if (role == "moments") return print_moments(std::atoi(argv[2]));
  return run_program({.name = "bench_etcd",
                      .system = system(),
                      .start = [](int nodes) { return std::make_unique<EtcdServers>(nodes); },
                      .be_raw_worker = be_raw_worker},
                     argc, argv);
}
