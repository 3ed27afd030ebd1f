#include "etcd_server.h"
#include "lab/torture/sites.h"

namespace holdfast::lab {
namespace {

using test::EtcdServer;

class EtcdSiteServer : public SiteServer {
 public:
  EtcdSiteServer(std::shared_ptr<EtcdServer> cluster, std::size_t member)
      : cluster_(std::move(cluster)), member_(member) {}

  int port() const override { return cluster_->port(member_); }
  void pause() override { cluster_->pause(member_); }
  void resume() override { cluster_->resume(member_); }
  void kill() override { cluster_->kill(member_); }
  void restart() override { cluster_->restart(member_); }
  void jump_wall(std::chrono::seconds by) override { cluster_->jump_clock(member_, by); }
  bool alive() override { return cluster_->running(member_); }
  std::vector<std::filesystem::path> data() const override { return {cluster_->data(member_)}; }

 private:
  std::shared_ptr<EtcdServer> cluster_;
  std::size_t member_;
};

class EtcdSite : public Site {
 public:
  EtcdSite(std::vector<std::unique_ptr<SiteServer>> servers, std::shared_ptr<EtcdServer> cluster)
      : Site(std::move(servers),
             [cluster](const std::vector<int>& ports) { return cluster->url_of(ports); }),
        cluster_(std::move(cluster)) {}

 private:
  void start_dead() override { cluster_->restart_dead(); }

  std::shared_ptr<EtcdServer> cluster_;
};

}  // namespace

std::unique_ptr<Site> open_etcd(const SiteOptions&) {
  auto cluster = std::make_shared<EtcdServer>(test::EtcdOptions{.count = 3});
  std::vector<std::unique_ptr<SiteServer>> servers;
  for (std::size_t i = 0; i < cluster->size(); ++i) {
    servers.push_back(std::make_unique<EtcdSiteServer>(cluster, i));
  }
  return std::make_unique<EtcdSite>(std::move(servers), std::move(cluster));
}

}  // namespace holdfast::lab
