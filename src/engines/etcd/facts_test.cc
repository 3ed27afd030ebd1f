#include "engines/etcd/facts.h"

#include <gmock/gmock.h>

#include "base/known_server.h"
#include "engines/etcd/etcd_engine.h"
#include "wire/protobuf.h"

namespace holdfast::internal::etcd {
namespace {

struct Case {
  const char* version;
  std::size_t members;
  const char* finding;  // empty: none of the defects
  Exclusion exclusion;
};

TEST(EtcdFacts, KnowTheDefectsOfVersions) {
  const Case cases[] = {
      {"3.4.23", 3, "etcd-leases-revoked-early", Exclusion::best_effort},
      {"3.4.30", 3, "etcd-leases-revoked-early", Exclusion::best_effort},
      {"3.4.31", 3, "", Exclusion::linearizable},
      {"3.5.12", 3, "etcd-leases-revoked-early", Exclusion::best_effort},
      {"3.5.13", 3, "", Exclusion::linearizable},
      {"3.6.0", 3, "", Exclusion::linearizable},
      {"3.5.2", 1, "etcd-inconsistent", Exclusion::best_effort},
      // There is nobody who could replace its leader.
      {"3.4.23", 1, "", Exclusion::linearizable},
      // How many there are is not known: the worst is assumed.
      {"3.4.23", 0, "etcd-leases-revoked-early", Exclusion::best_effort},
  };
  for (const Case& each : cases) {
    Facts facts{.server = "h:1", .members = each.members};
    facts.status.version = each.version;
    facts.status.leader = 1;
    const Examination found = examined(facts);
    EXPECT_EQ(lowered(etcd_guarantees(), found.findings).exclusion, each.exclusion) << each.version;
    bool seen = false;
    for (const Finding& finding : found.findings) seen = seen || finding.id == each.finding;
    EXPECT_EQ(seen, *each.finding != '\0') << each.version << ' ' << each.members;
  }
}

TEST(EtcdFacts, AlarmsAreHeard) {
  const std::string alarm = ProtoWriter().number(1, 77).number(2, 2).take();
  const std::string answer = ProtoWriter().message(2, alarm).take();
  const Examination found = examined({.server = "h:1", .alarms = decode_alarms(answer)});
  EXPECT_FALSE(fit(found));
}

TEST(EtcdFacts, AStatusIsReadAndNonsenseIsNot) {
  const std::string bytes = ProtoWriter()
                                .bytes(2, "3.5.13")
                                .number(3, 9)
                                .number(4, 8)
                                .bytes(8, "bad")
                                .number(10, 1)
                                .take();
  const std::optional<Status> status = decode_status(bytes);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->version, "3.5.13");
  EXPECT_EQ(status->leader, 8U);
  EXPECT_TRUE(status->learner);
  EXPECT_EQ(status->errors.size(), 1U);
  EXPECT_FALSE(decode_status("\xff\xff"));
  EXPECT_EQ(count_members(ProtoWriter().message(2, "").message(2, "").take()), 2U);
}

}  // namespace
}  // namespace holdfast::internal::etcd
