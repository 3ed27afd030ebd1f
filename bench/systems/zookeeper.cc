// ZooKeeper: the engine beside bare requests, Curator and kazoo; on one server and on three.
#include <sstream>

#include "data_folder.h"
#include "kinds.h"
#include "raw_requests.h"
#include "zookeeper_raw.h"
#include "zookeeper_server.h"

namespace holdfast::bench {

namespace {

test::ZooKeeperOptions as_in_production() {
  test::ZooKeeperOptions options;
  options.tick_ms = 2000;
  if (on_disk()) options.properties = {"zookeeper.forceSync=yes"};
  // Tests want a JVM that starts quickly; here it should become fast.
  options.jvm = {"-XX:TieredStopAtLevel=4", "-Xmx1g"};
  return options;
}

class ZooKeeper final : public System {
 public:
  explicit ZooKeeper(int count) {
    if (count == 1) {
      one_.emplace(as_in_production());
      return;
    }
    several_.emplace(test::ZooKeeperEnsembleOptions{.count = count, .server = as_in_production()});
    follower_ = (several_->leader() + 1) % size();
  }

  std::string title() const override { return title_of(test::ServerKind::zookeeper); }
  std::string url() const override { return one_ ? one_->url() : several_->url(); }
  std::string single_url() const override { return at(follower_).url(); }
  std::vector<pid_t> processes() const override {
    std::vector<pid_t> all;
    for (std::size_t i = 0; i < size(); ++i) all.push_back(at(i).pid());
    return all;
  }
  CountDuring commands() const override {
    return difference_of([this] {
      return sum_of([](const std::string& name) { return name == "zk_packets_received"; });
    });
  }
  std::optional<ServerCounter> counter() const override {
    return ServerCounter{.what = "watches that fired",
                         .value =
                             [this] {
                               return sum_of([](const std::string& name) {
                                 return name.starts_with("zk_sum_node_") &&
                                        name.ends_with("_watch_count");
                               });
                             },
                         .most_per_hand_off = 2};
  }
  std::vector<Division> divisions() const override {
    return {{.entrants = all_entrants("zookeeper", "raw create + delete"),
             // At most 0.7 of the time of Curator.
             .standard = {.other_cpu = {at_least(1 / 0.7, "curator")},
                          .hold_gap = {at_most(0.7, "curator")}}}};
  }

 private:
  template <class F>
  double sum_of(F counts) const {
    double sum = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      std::istringstream lines(at(i).ask("mntr"));
      for (std::string name, value; lines >> name && std::getline(lines, value);) {
        if (counts(name)) sum += std::stod(value);
      }
    }
    return sum;
  }

  std::size_t size() const { return one_ ? 1 : several_->size(); }
  test::ZooKeeperServer& at(std::size_t index) const { return one_ ? *one_ : several_->at(index); }

  mutable std::optional<test::ZooKeeperServer> one_;
  mutable std::optional<test::ZooKeeperEnsemble> several_;
  std::size_t follower_ = 0;
};

}  // namespace

SystemKind zookeeper_kind() {
  return {.name = "zookeeper",
          .start = [](int nodes) { return std::make_unique<ZooKeeper>(nodes); },
          .workers = {{"raw", &be_requests_worker<ZooKeeperRaw>}},
          .nodes = {1, 3},
          .pinned = false};
}

}  // namespace holdfast::bench
