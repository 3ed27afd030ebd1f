#include "lab/torture/sites.h"
#include "zookeeper_server.h"

namespace holdfast::lab {
namespace {

using test::ZooKeeperEnsemble;

class ZooKeeperSiteServer : public SiteServer {
 public:
  ZooKeeperSiteServer(std::shared_ptr<ZooKeeperEnsemble> ensemble, std::size_t index)
      : ensemble_(std::move(ensemble)), server_(ensemble_->at(index)) {}

  int port() const override { return server_.port(); }
  void pause() override { server_.pause(); }
  void resume() override { server_.resume(); }
  void kill() override { server_.kill(); }
  void restart() override { server_.restart(); }
  test::MovableClock& clock() override { return server_.clock(); }
  bool alive() override { return server_.running(); }
  std::vector<std::filesystem::path> data() const override { return {server_.data()}; }
  void stall_disk(bool stalled) override { server_.clock().stall_disk(stalled); }

 private:
  std::shared_ptr<ZooKeeperEnsemble> ensemble_;
  test::ZooKeeperServer& server_;
};

std::string url_of(const std::vector<int>& ports) {
  std::string hosts;
  for (const int port : ports) {
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return "zookeeper://" + hosts;
}

class ZooKeeperSite : public Site {
 public:
  ZooKeeperSite(std::vector<std::unique_ptr<SiteServer>> servers,
                std::shared_ptr<ZooKeeperEnsemble> ensemble)
      : Site(std::move(servers), url_of), ensemble_(std::move(ensemble)) {}

 private:
  void start_dead() override { ensemble_->restart_dead(); }

  std::shared_ptr<ZooKeeperEnsemble> ensemble_;
};

}  // namespace

std::unique_ptr<Site> open_zookeeper(const SiteOptions& options) {
  test::ZooKeeperOptions server{.movable_clock = true};
  if (options.syncs) server.properties = {"zookeeper.forceSync=yes"};
  auto ensemble =
      std::make_shared<ZooKeeperEnsemble>(test::ZooKeeperEnsembleOptions{.server = server});
  std::vector<std::unique_ptr<SiteServer>> servers;
  for (std::size_t i = 0; i < ensemble->size(); ++i) {
    servers.push_back(std::make_unique<ZooKeeperSiteServer>(ensemble, i));
  }
  return std::make_unique<ZooKeeperSite>(std::move(servers), std::move(ensemble));
}

}  // namespace holdfast::lab
