#include "engines/kit/withdrawal.h"

#include <gmock/gmock.h>

namespace holdfast::internal {
namespace {

const Result<bool> kDone = true;

TEST(Withdrawal, TheReasonStays) {
  EXPECT_EQ(after_withdrawal(Failure(Code::cancelled, "x"), kDone).code(), Code::cancelled);
  const Failure busy = after_withdrawal(Failure::busy(Busy{.holder = "h"}), kDone);
  ASSERT_TRUE(busy.busy());
  EXPECT_EQ(busy.busy()->holder, "h");
}

TEST(Withdrawal, AnUnknownOutcomeIsKnownAfterIt) {
  EXPECT_EQ(after_withdrawal(Failure(Code::unknown, "x"), kDone).code(), Code::unreachable);
}

TEST(Withdrawal, WithoutAnAnswerTheOutcomeIsUnknown) {
  const Result<bool> lost = Failure(Code::unreachable, "no answer");
  const Failure told = after_withdrawal(Failure(Code::cancelled, "stopped"), lost);
  EXPECT_EQ(told.code(), Code::unknown);
  EXPECT_EQ(told.message(), "stopped; and the claim could not be taken back: no answer");
}

TEST(Withdrawal, AServerThatIsUnfitIsNamed) {
  const Result<void> refused = Failure(Code::misconfigured, "no permission");
  EXPECT_EQ(after_withdrawal(Failure(Code::unknown, "x"), refused).code(), Code::misconfigured);
}

}  // namespace
}  // namespace holdfast::internal
