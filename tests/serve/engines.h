// Engines that a suite of the daemon runs on: each test once per kind.
#pragma once

#include <memory>
#include <string>

#include "daemon_fixture.h"
#include "postgres_server.h"
#include "redis_server.h"

namespace holdfast::test {

class EngineTest : public DaemonTest, public testing::WithParamInterface<const char*> {
 protected:
  EngineTest() {
    if (kind() == "redis") redis_ = std::make_unique<RedisServer>();
    if (kind() == "postgres") postgres_ = std::make_unique<PostgresServer>();
  }

  std::string kind() const { return GetParam(); }
  std::string engine_url() const {
    if (redis_) return redis_->url();
    if (postgres_) return postgres_->url();
    return url();
  }
  Daemon serve(Words words = {}) const {
    Words all = {"--on", engine_url()};
    all.insert(all.end(), words.begin(), words.end());
    return Daemon(std::move(all));
  }

  std::unique_ptr<RedisServer> redis_;
  std::unique_ptr<PostgresServer> postgres_;
};

inline std::string kind_name(const testing::TestParamInfo<const char*>& info) { return info.param; }

#define HOLDFAST_ON_ENGINES(suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::Values("sqlite", "redis", "postgres"), \
                           kind_name)

}  // namespace holdfast::test
