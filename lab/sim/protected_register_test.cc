#include "lab/sim/protected_register.h"

#include <gtest/gtest.h>

namespace holdfast::lab::sim {
namespace {

using Written = ProtectedRegister::Written;

TEST(ProtectedRegister, WithoutAFenceALateWriteLosesAnUpdate) {
  ProtectedRegister data(Fencing::none);
  const auto old_read = data.read(Token(1));
  EXPECT_EQ(data.write(Token(2), data.read(Token(2))), Written::done);
  EXPECT_EQ(data.write(Token(1), old_read), Written::update_lost);
}

// The old holder writes between the new holder's read and its write.
TEST(ProtectedRegister, AWriteOnlyFenceLosesAnUpdateAsWell) {
  ProtectedRegister data(Fencing::writes);
  const auto old_read = data.read(Token(1));
  const auto new_read = data.read(Token(2));
  EXPECT_EQ(data.write(Token(1), old_read), Written::done);
  EXPECT_EQ(data.write(Token(2), new_read), Written::update_lost);
}

TEST(ProtectedRegister, AFullFenceLosesNone) {
  ProtectedRegister data(Fencing::reads_and_writes);
  const auto old_read = data.read(Token(1));
  const auto new_read = data.read(Token(2));
  EXPECT_EQ(data.write(Token(1), old_read), Written::refused);
  EXPECT_EQ(data.write(Token(2), new_read), Written::done);
  EXPECT_TRUE(data.read(Token(1)).refused);
}

}  // namespace
}  // namespace holdfast::lab::sim
