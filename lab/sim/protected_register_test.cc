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

TEST(ProtectedRegister, ReadersOfAFullFenceReadTogetherUntilAWriterComes) {
  ProtectedRegister data(Fencing::reads_and_writes);
  const Ticket one(Token(2), Mode::shared);
  const Ticket other(Token(3), Mode::shared);
  const auto first = data.read(one);
  EXPECT_FALSE(data.read(other).refused);
  EXPECT_FALSE(data.read(one).refused);
  EXPECT_EQ(data.write(Token(1), {}), Written::refused) << "a late writer";
  EXPECT_EQ(data.write(one, first), Written::refused) << "a reader";
  EXPECT_FALSE(ProtectedRegister::changed_between(first, data.read(one)));
  EXPECT_EQ(data.write(Token(4), data.read(Token(4))), Written::done);
  EXPECT_TRUE(data.read(one).refused);
  EXPECT_FALSE(ProtectedRegister::changed_between(first, data.read(one)));
}

TEST(ProtectedRegister, AReaderWithoutAFenceSeesTheDataChange) {
  for (const Fencing fencing : {Fencing::none, Fencing::writes}) {
    ProtectedRegister data(fencing);
    const Ticket reader(Token(2), Mode::shared);
    const auto first = data.read(reader);
    EXPECT_EQ(data.write(Token(1), data.read(Token(1))), Written::done);
    EXPECT_TRUE(ProtectedRegister::changed_between(first, data.read(reader)));
  }
}

}  // namespace
}  // namespace holdfast::lab::sim
