#include "etcd_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

TEST(EtcdServerTest, AnswersAndForgetsNothingInARestart) {
  EtcdServer server;
  server.ctl({"put", "key", "value"});
  server.restart();
  EXPECT_THAT(server.ctl({"get", "key"}), HasSubstr("value"));
}

TEST(EtcdServerTest, AClusterElectsAnotherLeaderWhenItsLeaderDies) {
  EtcdServer server({.count = 3});
  const std::size_t first = server.leader();
  server.kill(first);
  server.wait_until_ready();
  EXPECT_NE(server.leader(), first);
  server.restart(first);
  server.ctl({"put", "key", "value"});
}

TEST(EtcdServerTest, APausedMemberIsNotAsked) {
  EtcdServer server({.count = 3});
  const std::size_t leader = server.leader();
  server.pause(leader);
  server.wait_until_ready();
  EXPECT_NE(server.leader(), leader);
  server.resume(leader);
}

TEST(EtcdServerTest, SpeaksTlsAndAsksForAPassword) {
  for (const bool client_certificates : {false, true}) {
    EtcdServer server(
        {.tls = true, .client_certificates = client_certificates, .password = "secret"});
    server.ctl({"put", "key", "value"});
    EXPECT_THAT(server.url(), HasSubstr("etcds://root:secret@127.0.0.1:"));
  }
}

}  // namespace
}  // namespace holdfast::test
