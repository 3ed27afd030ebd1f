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
    // Items of each size that a lock may have: memory is shared out by size.
    for (std::size_t size = 1; size < 260; size += size / 8 + 16) {
      const std::string value(size, 'x');
      std::string request;
      for (int i = 0; i < 10000; ++i) {
        request += "set " + std::to_string(size) + "-" + std::to_string(i) + " 0 0 " +
                   std::to_string(size) + " noreply\r\n" + value + "\r\n";
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
