// A client may be a global object: no order of static construction or destruction matters.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "redis_masters.h"
#include "redis_server.h"
#include "temp_dir.h"

namespace holdfast::test {
namespace {

// The output of the program, and how it ended.
std::string run_program(const std::string& url, bool late) {
  const std::string command = "HOLDFAST_TEST_URL='" + url + "' " +
                              (late ? "HOLDFAST_TEST_LATE=1 " : "") +
                              HOLDFAST_GLOBAL_CLIENT " 2>&1";
  FILE* const output = popen(command.c_str(), "r");
  if (!output) return "no program";
  std::string said;
  std::array<char, 512> bytes{};
  while (std::fgets(bytes.data(), bytes.size(), output)) said += bytes.data();
  return said + "status " + std::to_string(pclose(output));
}

constexpr const char* kWell = "granted\nreleased\nstatus 0";

TEST(GlobalClient, WorksOnSqlite) {
  const TempDir directory;
  const std::string url = "sqlite://" + (directory.path() / "locks.db").string();
  EXPECT_EQ(run_program(url, false), kWell);
  EXPECT_EQ(run_program(url, true), kWell);
}

TEST(GlobalClient, WorksOnRedis) {
  const RedisServer server;
  EXPECT_EQ(run_program(server.url(), false), kWell);
  EXPECT_EQ(run_program(server.url(), true), kWell);
}

TEST(GlobalClient, WorksOnRedisOverTls) {
  const RedisServer server(RedisOptions{.tls = true});
  EXPECT_EQ(run_program(server.url(), false), kWell);
  EXPECT_EQ(run_program(server.url(), true), kWell);
}

TEST(GlobalClient, WorksOnRedlock) {
  const RedisMasters masters(RedisMastersOptions{.count = 3});
  EXPECT_EQ(run_program(masters.url(), false), kWell);
  EXPECT_EQ(run_program(masters.url(), true), kWell);
}

}  // namespace
}  // namespace holdfast::test
