#include "engines/zookeeper/facts.h"

#include <gmock/gmock.h>

#include "base/known_server.h"
#include "engines/zookeeper/zookeeper_engine.h"

namespace holdfast::internal::zookeeper {
namespace {

ServerFacts member(const std::string& version, const std::string& mode) {
  return parse_srvr("Zookeeper version: " + version +
                        "-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25 08:49 UTC\n"
                        "Latency min/avg/max: 0/0.0/0\nMode: " +
                        mode + "\nNode count: 5\n",
                    "h:1");
}

TEST(ZooKeeperFacts, KnowTheDefectsOfVersions) {
  const auto exclusion_of = [](const ServerFacts& server) {
    return lowered(zookeeper_guarantees(), examined({server}).findings).exclusion;
  };
  EXPECT_EQ(exclusion_of(member("3.9.3", "follower")), Exclusion::best_effort);
  EXPECT_EQ(exclusion_of(member("3.9.3", "standalone")), Exclusion::linearizable);
  EXPECT_EQ(exclusion_of(member("3.9.2", "leader")), Exclusion::linearizable);
  EXPECT_EQ(exclusion_of(member("3.9.4", "leader")), Exclusion::linearizable);
  EXPECT_EQ(exclusion_of(member("3.9.1", "leader")), Exclusion::best_effort);
  EXPECT_EQ(exclusion_of(member("3.8.0", "leader")), Exclusion::best_effort);
  EXPECT_EQ(exclusion_of(member("3.8.4", "leader")), Exclusion::linearizable);
}

TEST(ZooKeeperFacts, OneMemberWithTheDefectIsEnough) {
  const Examination found = examined(
      {member("3.9.4", "leader"), member("3.9.4", "follower"), member("3.9.3", "follower")});
  EXPECT_EQ(found.verdict(), Severity::warning);
}

TEST(ZooKeeperFacts, ServersThatStandAloneAreNoEnsemble) {
  EXPECT_FALSE(fit(examined({member("3.9.4", "standalone"), member("3.9.4", "standalone")})));
  EXPECT_TRUE(fit(examined({member("3.9.4", "standalone")})));
}

TEST(ZooKeeperFacts, AServerThatMayNotAnswerIsNoted) {
  const ServerFacts silent =
      parse_srvr("srvr is not executed because it is not in the whitelist.\n", "h:1");
  EXPECT_EQ(silent.version, "");
  EXPECT_EQ(examined({silent}).verdict(), Severity::note);
}

}  // namespace
}  // namespace holdfast::internal::zookeeper
