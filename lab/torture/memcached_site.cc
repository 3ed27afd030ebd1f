#include "lab/torture/sites.h"
#include "memcached_server.h"

namespace holdfast::lab {
namespace {

class MemcachedSiteServer : public SiteServer {
 public:
  MemcachedSiteServer() : memcached_({.movable_clock = true}) {}

  int port() const override { return memcached_.port(); }
  void pause() override { memcached_.pause(); }
  void resume() override { memcached_.resume(); }
  void kill() override { memcached_.kill(); }
  void restart() override { memcached_.restart(); }
  test::MovableClock& clock() override { return memcached_.clock(); }
  bool alive() override { return memcached_.running(); }

 private:
  test::MemcachedServer memcached_;
};

}  // namespace

std::unique_ptr<Site> open_memcached(const SiteOptions&) {
  std::vector<std::unique_ptr<SiteServer>> servers;
  servers.push_back(std::make_unique<MemcachedSiteServer>());
  return std::make_unique<Site>(std::move(servers), [](const std::vector<int>& ports) {
    return "memcached://127.0.0.1:" + std::to_string(ports.front());
  });
}

}  // namespace holdfast::lab
