#include "lease/owner_label.h"

#include <gtest/gtest.h>

#include "holdfast/text.h"

namespace holdfast::internal {
namespace {

LockInfo with_holder(std::string label) {
  LockInfo info{.name = "x"};
  info.holders.push_back({.label = std::move(label)});
  return info;
}

TEST(OwnerLabel, TheOwnerComesBackAndTheLabelIsAsItWas) {
  for (const std::string label : {"", "alice@web1", "\x1f",
                                  "a\x1f"
                                  "b\x1f",
                                  "\xff\xfe"}) {
    LockInfo info = with_holder(kept_label("job-7", label));
    info.waiters.push_back({.label = kept_label("a:b/c@d", label)});
    take_owners(info);
    EXPECT_EQ(info.holders[0].owner, "job-7");
    EXPECT_EQ(info.holders[0].label, label);
    EXPECT_EQ(info.waiters[0].owner, "a:b/c@d");
    EXPECT_EQ(info.waiters[0].label, label);
  }
}

TEST(OwnerLabel, ALabelWithoutAnOwnerIsLeftAlone) {
  for (const std::string label : {"", "alice", "\x1f", "\x1f\x1f", "\x1f\x1fx", "\x1fjob",
                                  "\x1fjob 7\x1fx", " \x1fjob\x1fx"}) {
    LockInfo info = with_holder(label);
    take_owners(info);
    EXPECT_EQ(info.holders[0].owner, "");
    EXPECT_EQ(info.holders[0].label, label);
  }
  EXPECT_EQ(kept_label("", "alice"), "alice");
}

TEST(OwnerLabel, ThePrintedHolderOfABusyLockIsShownWithoutItsOwner) {
  EXPECT_EQ(without_owner(printable(kept_label("job-7", "alice"))), "alice");
  EXPECT_EQ(without_owner("alice"), "alice");
  EXPECT_EQ(without_owner("\\x1Fjob"), "\\x1Fjob");
}

TEST(OwnerLabel, AnOwnerThatNoEngineCouldKeepIsNamed) {
  EXPECT_FALSE(problem_with_owner(""));
  EXPECT_FALSE(problem_with_owner(std::string(kMaxOwnerBytes, 'x')));
  EXPECT_TRUE(problem_with_owner(std::string(kMaxOwnerBytes + 1, 'x')));
  EXPECT_TRUE(problem_with_owner("a b"));
  EXPECT_TRUE(problem_with_owner("\x1f"));
  EXPECT_TRUE(problem_with_owner("é"));
}

}  // namespace
}  // namespace holdfast::internal
