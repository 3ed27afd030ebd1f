#include "lab/torture/resource.h"

#include <gtest/gtest.h>

#include "lab/checker.h"
#include "temp_dir.h"

namespace holdfast::lab {
namespace {

class ResourceTest : public testing::Test {
 protected:
  Resource resource(Fence fence, bool log = false) {
    return Resource(folder_.path(), {"s", fence, log}, history_);
  }
  History history() const { return read_history(folder_.path() / "history"); }

  test::TempDir folder_;
  HistoryFile history_{folder_.path() / "history"};
};

TEST_F(ResourceTest, WhatWasWrittenIsReadByTheNextOne) {
  for (const Fence fence : kFences) {
    for (const bool log : {false, true}) {
      EXPECT_EQ(resource(fence, log).read("A", Token(1)), 0);
      EXPECT_TRUE(resource(fence, log).write("A", Token(1), 1));
      EXPECT_EQ(resource(fence, log).read("B", Token(2)), 1);
      EXPECT_TRUE(resource(fence, log).write("B", Token(2), 2));
      EXPECT_EQ(resource(fence, log).read("C", Token(3)), 2);
    }
  }
  EXPECT_TRUE(check(history()).lost_updates.empty());
}

// The order in which a write-only fence is no fence: B has read, then A writes.
TEST_F(ResourceTest, AFenceThatChecksReadsShutsTheOldHolderOut) {
  Resource none = resource(Fence::none);
  Resource writes = resource(Fence::writes_only);
  Resource full = resource(Fence::full);
  for (Resource* each : {&none, &writes, &full}) {
    each->read("A", Token(33));
    each->read("B", Token(34));
  }
  EXPECT_TRUE(none.write("A", Token(33), 1));
  EXPECT_TRUE(writes.write("A", Token(33), 1));
  EXPECT_FALSE(full.write("A", Token(33), 1));
  for (Resource* each : {&none, &writes, &full}) EXPECT_TRUE(each->write("B", Token(34), 1));
  const Verdict verdict = check(history()).verdict;
  EXPECT_EQ(verdict.harm_unfenced, Answer::yes);
  EXPECT_EQ(verdict.harm_write_fenced, Answer::yes);
  EXPECT_EQ(verdict.harm_fenced, Answer::no);
}

TEST_F(ResourceTest, AnOldHoldersReadIsRefusedToo) {
  Resource full = resource(Fence::full);
  EXPECT_TRUE(full.read("B", Token(34)));
  EXPECT_FALSE(full.read("A", Token(33)));
  EXPECT_EQ(check(history()).barred, 1U);
}

TEST_F(ResourceTest, ReadersOfASharedLockReadTogether) {
  Resource full = resource(Fence::full);
  const Ticket one(Token(33), Mode::shared);
  const Ticket other(Token(34), Mode::shared);
  EXPECT_TRUE(full.read("A", one));
  EXPECT_TRUE(full.read("B", other));
  EXPECT_TRUE(full.read("A", one)) << "B has a newer token, and is a reader, too";
  EXPECT_EQ(check(history()).verdict.token_order, Answer::no);
  EXPECT_FALSE(full.write("C", Token(32), 1)) << "a late writer";
  EXPECT_TRUE(full.write("D", Token(35), 1));
  EXPECT_FALSE(full.read("A", one)) << "a late reader";
  EXPECT_EQ(check(history()).barred, 2U);
  EXPECT_EQ(check(history()).verdict.token_order, Answer::no);
}

}  // namespace
}  // namespace holdfast::lab
