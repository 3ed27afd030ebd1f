#include "engines/redlock/redis_voter.h"

#include <gtest/gtest.h>

namespace holdfast::internal::redlock {
namespace {

TEST(RedlockIdentityTest, IsReadFromWhatRedisSays) {
  const Identity identity = Identity::from(
      "# Server\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\nrun_id:ab12\r\n\r\n"
      "# Persistence\r\naof_enabled:1\r\n\r\n# Replication\r\nrole:master\r\n");
  EXPECT_EQ(identity.run_id, "ab12");
  EXPECT_EQ(identity.role, "master");
  EXPECT_EQ(identity.mode, "cluster");
  EXPECT_TRUE(identity.keeps_data);
}

// A node of a cluster must not vote because its product has another word for that.
TEST(RedlockIdentityTest, IsReadFromWhatValkeySays) {
  const Identity identity = Identity::from(
      "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nserver_mode:cluster\r\n"
      "run_id:ab12\r\n\r\n# Replication\r\nrole:master\r\n");
  EXPECT_EQ(identity.run_id, "ab12");
  EXPECT_EQ(identity.mode, "cluster");
  EXPECT_FALSE(identity.keeps_data);
}

}  // namespace
}  // namespace holdfast::internal::redlock
