#include "lab/torture/sites.h"
#include "memcached_server.h"

namespace holdfast::lab {
namespace {

class MemcachedSiteServer : public SiteServer {
 public:
  MemcachedSiteServer() : memcached_({.arguments = {"-m", "2"}, .movable_clock = true}) {}

  int port() const override { return memcached_.port(); }
  void pause() override { memcached_.pause(); }
  void resume() override { memcached_.resume(); }
  void kill() override { memcached_.kill(); }
  void restart() override { memcached_.restart(); }
  test::MovableClock& clock() override { return memcached_.clock(); }
  bool alive() override { return memcached_.running(); }
  // Full, it evicts what was used longest ago. Nothing undoes that.
  void fill_memory(bool full) override {
    if (!full) return;
    const std::string value(24, 'x');
    for (int batch = 0; batch < 40; ++batch) {
      std::string request;
      for (int i = 0; i < 1000; ++i) {
        request += "set filler-" + std::to_string(batch * 1000 + i) + "-of-the-torture 0 0 " +
                   std::to_string(value.size()) + " noreply\r\n" + value + "\r\n";
      }
      memcached_.ask(request + "mn\r\n");
    }
  }

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
