// etcd: the engine beside bare requests, Go's concurrency.Mutex, etcd3 and `etcdctl lock`; on one server and
// on three.
#include <sstream>

#include "etcd_raw.h"
#include "etcd_server.h"
#include "etcdctl_worker.h"
#include "http_get.h"
#include "kinds.h"
#include "raw_requests.h"

namespace holdfast::bench {

namespace {

class Etcd final : public System {
 public:
  explicit Etcd(int count) : server_({.count = count}), leader_(server_.leader()) {}

  std::string title() const override { return title_of(test::ServerKind::etcd); }
  std::string url() const override { return server_.url(); }
  std::string single_url() const override {
    return server_.url_of({server_.port((leader_ + 1) % server_.size())});
  }
  std::vector<pid_t> processes() const override {
    std::vector<pid_t> all;
    for (std::size_t i = 0; i < server_.size(); ++i) all.push_back(server_.pid(i));
    return all;
  }
  CountDuring commands() const override {
    return difference_of([this] { return sum_of("grpc_server_msg_received_total"); });
  }
  std::optional<ServerCounter> counter() const override {
    return ServerCounter{.what = "events sent to watchers",
                         .value = [this] { return sum_of("etcd_debugging_mvcc_events_total"); },
                         .most_per_hand_off = 2};
  }
  std::vector<Division> divisions() const override {
    std::vector<Entrant> entrants = all_entrants("etcd", "raw Txn + delete");
    entrants.push_back(own_entrant("etcdctl lock", Role::peer, "etcd", "etcdctl"));
    return {{.entrants = std::move(entrants),
             .standard = {.hold_gap = {at_most(0.6, "go-mutex")}, .hold_owners = {at_least(700)}}}};
  }

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

int be_moments_worker(const std::string& hold_us) { return print_moments(std::stoi(hold_us)); }

}  // namespace

SystemKind etcd_kind() {
  return {.name = "etcd",
          .start = [](int nodes) { return std::make_unique<Etcd>(nodes); },
          .workers = {{"raw", &be_requests_worker<EtcdRaw>},
                      {"etcdctl", &be_etcdctl_worker},
                      {"moments", &be_moments_worker}},
          .nodes = {1, 3},
          .pinned = false};
}

}  // namespace holdfast::bench
