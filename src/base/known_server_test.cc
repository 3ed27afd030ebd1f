#include "base/known_server.h"

#include <gmock/gmock.h>

namespace holdfast::internal {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Guarantees strong() {
  Guarantees guarantees;
  guarantees.exclusion = Exclusion::linearizable;
  guarantees.token = TokenStrength::linearizable;
  return guarantees;
}

const Finding kForgetful{Severity::warning, "forgetful", "it forgets", "make it remember",
                         Exclusion::best_effort};

TEST(KnownServer, GuaranteesAreLoweredToWhatTheFindingsLeave) {
  KnownServer known(strong());
  EXPECT_FALSE(known.guarantees().of_server);
  const Guarantees& before = known.guarantees();
  ASSERT_TRUE(known.learn({.findings = {kForgetful}}));
  EXPECT_EQ(known.guarantees().exclusion, Exclusion::best_effort);
  EXPECT_EQ(known.guarantees().token, TokenStrength::linearizable);
  EXPECT_EQ(known.guarantees().lowered_because, "it forgets; make it remember");
  EXPECT_TRUE(known.guarantees().of_server);
  EXPECT_EQ(before.exclusion, Exclusion::linearizable) << "somebody may still read it";
}

TEST(KnownServer, AServerThatWasMendedIsTrustedAgain) {
  KnownServer known(strong());
  ASSERT_TRUE(known.learn({.findings = {kForgetful}}));
  const Guarantees& low = known.guarantees();
  ASSERT_TRUE(known.learn({}));
  EXPECT_EQ(known.guarantees().exclusion, Exclusion::linearizable);
  ASSERT_TRUE(known.learn({.findings = {kForgetful}}));
  EXPECT_EQ(&known.guarantees(), &low) << "kept once for each outcome, however often it is learnt";
}

TEST(KnownServer, AFindingNeverRaisesAGuarantee) {
  const Finding good{Severity::good, "", "", "", Exclusion::linearizable};
  EXPECT_EQ(lowered({}, {good}).exclusion, Exclusion::best_effort);
}

TEST(KnownServer, AnUnfitServerIsRefusedWithItsReason) {
  KnownServer known(strong());
  const Result<void> refused = known.learn(
      {.server = "X at h:1", .findings = {{Severity::unfit, "x", "it lies", "use another"}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Code::misconfigured);
  EXPECT_EQ(refused.message(), "X at h:1: it lies; use another");
  EXPECT_EQ(known.last()->verdict(), Severity::unfit);
}

TEST(VersionNumber, ComparesByNumber) {
  EXPECT_LT(VersionNumber::parse("3.5.9"), VersionNumber::parse("3.5.13"));
  EXPECT_EQ(VersionNumber::parse("3.5.13-rc1"), (VersionNumber{3, 5, 13}));
  EXPECT_EQ(VersionNumber::parse("17beta1"), (VersionNumber{17, 0, 0}));
  EXPECT_EQ(VersionNumber::parse("none"), VersionNumber());
}

TEST(ClockDifference, HasHalfOfTheRoundTripAsItsError) {
  const WallTime asked(std::chrono::seconds(100));
  const ClockDifference clock = clock_difference(105s, asked, asked + 2s, 1us);
  EXPECT_NEAR(std::chrono::duration<double>(clock.ahead).count(), 4, 0.001);
  EXPECT_NEAR(std::chrono::duration<double>(clock.error).count(), 1, 0.001);
  EXPECT_EQ(clock_finding(clock, true).severity, Severity::warning);
  // It may be right: the way took that long.
  EXPECT_EQ(clock_finding({.ahead = 4s, .error = 3s}, true).severity, Severity::good);
  EXPECT_THAT(clock_finding({.ahead = -9s}, false).what, HasSubstr("behind"));
}

}  // namespace
}  // namespace holdfast::internal
