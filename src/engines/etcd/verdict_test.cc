#include "engines/etcd/verdict.h"

#include <gtest/gtest.h>

namespace holdfast::internal::etcd {
namespace {

TEST(EtcdVerdictTest, AStatusThatIsNotKnownMeansThatTheOutcomeIsNotKnown) {
  for (const int status : {1, 2, 4, 10, 13, 14, 15, 17, 99}) {
    EXPECT_EQ(verdict_on(status, "something new"), Verdict::again_elsewhere_unsure) << status;
  }
}

TEST(EtcdVerdictTest, WhatIsRefusedWasNotExecuted) {
  for (const int status : {3, 5, 6, 7, 8, 9, 11, 12}) {
    EXPECT_EQ(verdict_on(status, "no"), Verdict::refused) << status;
  }
}

// As etcd 3.4 to 3.6 say it.
TEST(EtcdVerdictTest, AChangeOfLeadersIsNoRefusal) {
  EXPECT_EQ(verdict_on(2, "raft proposal dropped"), Verdict::again_here);
  EXPECT_EQ(verdict_on(14, "etcdserver: leader changed"), Verdict::again_here_unsure);
  EXPECT_EQ(verdict_on(14, "etcdserver: no leader"), Verdict::again_elsewhere);
  EXPECT_EQ(verdict_on(9, "etcdserver: not leader"), Verdict::again_elsewhere);
  EXPECT_EQ(
      verdict_on(14, "etcdserver: request timed out, possibly due to previous leader failure"),
      Verdict::again_elsewhere_unsure);
  EXPECT_EQ(verdict_on(14, "etcdserver: server stopped"), Verdict::again_elsewhere_unsure);
  EXPECT_EQ(verdict_on(2, "not a primary lessor"), Verdict::again_elsewhere_unsure);
}

TEST(EtcdVerdictTest, AnExpiredLoginIsMadeAnew) {
  EXPECT_EQ(verdict_on(16, "etcdserver: invalid auth token"), Verdict::log_in_again);
  EXPECT_EQ(verdict_on(3, "etcdserver: revision of auth store is old"), Verdict::log_in_again);
}

}  // namespace
}  // namespace holdfast::internal::etcd
