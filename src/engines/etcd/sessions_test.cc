// When the answer to a keep-alive is believed: see sessions.h.
#include "engines/etcd/sessions.h"

#include <gtest/gtest.h>

namespace holdfast::internal::etcd {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

BootTime at(Duration since) { return BootTime(1000s + since); }

class EtcdSessionTest : public testing::Test {
 protected:
  EtcdSessionTest() {
    session_.confirmed = at(0s);
    session_.term = 3;
  }
  static Header header(std::uint64_t term) { return Header{.revision = 9, .term = term}; }
  Duration confirmed() const { return session_.confirmed - at(0s); }

  Session session_;
  const KeepAlive keep_alive_{.sent_at = at(5s), .term = 3, .connection = 8};
};

TEST_F(EtcdSessionTest, AKeepAliveCountsFromWhenItWasSentOnceTheSameLeaderHasConfirmedIt) {
  EXPECT_TRUE(Sessions::confirm(session_, keep_alive_, header(3), 8));
  EXPECT_EQ(confirmed(), 5s);
}

// The one that answered the keep-alive may have been replaced before, without knowing.
TEST_F(EtcdSessionTest, AKeepAliveIsNotBelievedWhenTheNextAnswerIsOfAnotherTerm) {
  EXPECT_FALSE(Sessions::confirm(session_, keep_alive_, header(4), 8));
  EXPECT_FALSE(Sessions::confirm(session_, keep_alive_, header(2), 8));
  EXPECT_EQ(confirmed(), 0s);
}

// Terms are those of what a member has applied: of another member they say nothing of the first.
TEST_F(EtcdSessionTest, AKeepAliveIsNotBelievedWhenAnotherMemberAnswersNext) {
  EXPECT_FALSE(Sessions::confirm(session_, keep_alive_, header(3), 9));
  EXPECT_EQ(confirmed(), 0s);
}

// A leader of that time may be stalled, and revokes it when it goes on.
TEST_F(EtcdSessionTest, ALeaseOfAnEarlierTermIsNotBelieved) {
  session_.term = 2;
  EXPECT_FALSE(Sessions::confirm(session_, keep_alive_, header(3), 8));
  EXPECT_TRUE(session_.outdated);
  session_.term = 3;
  EXPECT_FALSE(Sessions::confirm(session_, keep_alive_, header(3), 8)) << "once and for all";
  EXPECT_EQ(confirmed(), 0s);
}

// Or it would be asked again and again.
TEST_F(EtcdSessionTest, ALeaseOfALaterTermIsOneOfAClusterThatWasRestored) {
  session_.term = 7;
  EXPECT_FALSE(Sessions::confirm(session_, keep_alive_, header(3), 8));
  EXPECT_TRUE(session_.outdated);
}

TEST_F(EtcdSessionTest, AnOldKeepAliveTakesNothingBack) {
  session_.confirmed = at(6s);
  EXPECT_TRUE(Sessions::confirm(session_, keep_alive_, header(3), 8));
  EXPECT_EQ(confirmed(), 6s);
}

}  // namespace
}  // namespace holdfast::internal::etcd
