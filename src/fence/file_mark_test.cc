// The mark in a file: damage, absence and permissions.
#include "fence/file_mark.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fence/fence_testing.h"
#include "holdfast/fence.h"

namespace holdfast {
namespace {

using fence_testing::in_child;
using fence_testing::slurp;
using fence_testing::spill;
using fence_testing::TempDir;
using fence_testing::verdict;
namespace slots = internal::fence::slots;

class FileMarkTest : public ::testing::Test {
 protected:
  FenceGate open() const { return FenceGate::in_file(path_).value(); }
  // Raises the mark by each of these in turn, and returns the file's bytes.
  std::string image_after(std::initializer_list<std::uint64_t> tokens) const {
    FenceGate gate = open();
    for (const std::uint64_t token : tokens) EXPECT_TRUE(gate.enter(Token(token)));
    return slurp(path_);
  }
  void expect_misconfigured(const Failure& failure) const {
    EXPECT_EQ(failure.code(), Code::misconfigured) << failure.message();
    EXPECT_NE(failure.message().find(path_), std::string::npos) << failure.message();
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_ / "x.fence";
};

// Which slot holds `mark`.
std::size_t slot_with(const std::string& image, std::uint64_t mark) {
  const auto first = slots::decode(0, image.substr(0, slots::kSlotBytes));
  return first && first->newest == Token(mark) ? 0 : 1;
}

TEST_F(FileMarkTest, MarksAlternateBetweenTheSlots) {
  const std::string two = image_after({5, 6});
  EXPECT_NE(slot_with(two, 5), slot_with(two, 6));
  const std::string three = image_after({7});
  EXPECT_EQ(slot_with(three, 7), slot_with(two, 5));
  EXPECT_EQ(slot_with(three, 6), slot_with(two, 6));
}

// A torn write of mark 7 over 5: whatever lands in that slot, 6 stands, or 7 if it is complete.
TEST_F(FileMarkTest, TornWriteNeverLosesTheMark) {
  const std::string before = image_after({5, 6});
  const std::string after = image_after({7});
  const std::size_t start = slot_with(after, 7) * slots::kStrideBytes;
  for (std::size_t landed = 0; landed <= slots::kSlotBytes; ++landed) {
    std::string torn = before;
    torn.replace(start, landed, after, start, landed);
    spill(path_, torn);
    // The part that programs without modes know is enough.
    EXPECT_EQ(open().mark().value(), Token(landed >= slots::kOneNumberBytes ? 7 : 6)) << landed;
    EXPECT_EQ(open().enter(Token(5)).code(), Code::stale_token) << landed;
    EXPECT_TRUE(open().enter(Token(7))) << landed;
    EXPECT_EQ(open().mark().value(), Token(7)) << landed;
  }
}

TEST_F(FileMarkTest, AnyDamagedByteOfTheOlderSlotIsHarmless) {
  const std::string whole = image_after({5, 6});
  const std::size_t start = slot_with(whole, 5) * slots::kStrideBytes;
  for (std::size_t i = 0; i < slots::kSlotBytes; ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[start + i] = static_cast<char>(damaged[start + i] ^ flip);
      spill(path_, damaged);
      EXPECT_EQ(open().mark().value(), Token(6)) << i;
    }
  }
}

TEST_F(FileMarkTest, AnyDamagedByteOfTheNewerSlotIsNoticed) {
  const std::string whole = image_after({5, 6});
  const std::size_t start = slot_with(whole, 6) * slots::kStrideBytes;
  for (std::size_t i = 0; i < slots::kSlotBytes; ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[start + i] = static_cast<char>(damaged[start + i] ^ flip);
      spill(path_, damaged);
      // Never a number that nobody wrote. The second part may be lost without the first.
      EXPECT_EQ(open().mark().value(), Token(i < slots::kOneNumberBytes ? 5 : 6)) << i;
    }
  }
}

TEST_F(FileMarkTest, DamageInBothSlotsIsAnErrorNeverZero) {
  const std::string whole = image_after({5, 6});
  FenceGate opened_before = open();
  for (std::size_t i = 0; i < slots::kOneNumberBytes; ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    damaged[slots::kStrideBytes + i] = static_cast<char>(damaged[slots::kStrideBytes + i] ^ 0x10);
    spill(path_, damaged);
    expect_misconfigured(FenceGate::in_file(path_).failure());
    expect_misconfigured(opened_before.enter(Token(9)).failure());
    expect_misconfigured(opened_before.mark().failure());
    EXPECT_EQ(slurp(path_), damaged) << "a corrupt file is evidence: it is left alone";
  }
}

// The whole slot is one write. Whatever part of it lands, no late holder is admitted afterwards.
TEST_F(FileMarkTest, TornWriteOfAReadersMarkIsOnTheSafeSide) {
  const Ticket late(Token(4), Mode::shared);
  const Ticket reader(Token(6), Mode::shared);
  image_after({5});
  ASSERT_TRUE(open().enter(reader));
  const std::string before = slurp(path_);
  ASSERT_TRUE(open().enter({Token(8), Mode::shared}));
  const std::string after = slurp(path_);
  const std::size_t start = slot_with(after, 8) * slots::kStrideBytes;
  for (std::size_t landed = 0; landed <= slots::kSlotBytes; ++landed) {
    std::string torn = before;
    torn.replace(start, landed, after, start, landed);
    const bool between = landed >= slots::kOneNumberBytes && landed < slots::kSlotBytes;
    for (const Ticket& stale : {late, Ticket(Token(5))}) {
      spill(path_, torn);
      EXPECT_EQ(open().enter(stale).code(), Code::stale_token) << landed;
    }
    spill(path_, torn);
    EXPECT_EQ(open().enter(reader).ok(), !between) << landed;
    EXPECT_TRUE(open().enter({Token(8), Mode::shared})) << landed;
    EXPECT_EQ(open().mark().value(), Token(8)) << landed;
  }
}

TEST_F(FileMarkTest, DamageToTheWritersNumberMakesItTheHighest) {
  image_after({5});
  ASSERT_TRUE(open().enter({Token(8), Mode::shared}));
  const std::string whole = slurp(path_);
  const std::size_t start = slot_with(whole, 8) * slots::kStrideBytes;
  for (std::size_t i = slots::kOneNumberBytes; i < slots::kSlotBytes; ++i) {
    std::string damaged = whole;
    damaged[start + i] = static_cast<char>(damaged[start + i] ^ 0x10);
    spill(path_, damaged);
    EXPECT_EQ(open().enter({Token(7), Mode::shared}).code(), Code::stale_token) << i;
    EXPECT_TRUE(open().enter({Token(8), Mode::shared})) << i;
  }
}

TEST_F(FileMarkTest, SwappedSlotsAreNotSlots) {
  const std::string whole = image_after({5, 6});
  std::string swapped = whole;
  swapped.replace(0, slots::kSlotBytes, whole, slots::kStrideBytes, slots::kSlotBytes);
  swapped.replace(slots::kStrideBytes, slots::kSlotBytes, whole, 0, slots::kSlotBytes);
  spill(path_, swapped);
  expect_misconfigured(FenceGate::in_file(path_).failure());
}

TEST_F(FileMarkTest, TruncatedExtendedZeroedAndForeignFilesAreErrors) {
  const std::string whole = image_after({5, 6});
  for (const std::string& bytes :
       {whole.substr(0, 1), whole.substr(0, slots::kSlotBytes), whole.substr(0, 4096),
        whole.substr(0, whole.size() - 1), whole + "x", std::string(slots::kFileBytes, '\0'),
        std::string("my shopping list\n")}) {
    spill(path_, bytes);
    auto gate = FenceGate::in_file(path_);
    ASSERT_FALSE(gate) << bytes.size();
    expect_misconfigured(gate.failure());
    EXPECT_NE(gate.message().find("delete the file"), std::string::npos) << gate.message();
  }
}

TEST_F(FileMarkTest, EmptyFileIsNewAndKeepsItsPermissions) {
  spill(path_, "");
  std::filesystem::permissions(path_, std::filesystem::perms(0640));
  EXPECT_EQ(open().mark().value(), Token(0));
  EXPECT_EQ(fence_testing::mode_of(path_), 0640);
}

TEST_F(FileMarkTest, EmptiedOrDeletedWhileOpenIsAnErrorNeverZero) {
  FenceGate gate = open();
  ASSERT_TRUE(gate.enter(Token(5)));
  spill(path_, "");
  expect_misconfigured(gate.enter(Token(4)).failure());
  std::filesystem::remove(path_);
  expect_misconfigured(gate.enter(Token(4)).failure());
  expect_misconfigured(gate.mark().failure());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FileMarkTest, FilePutInPlaceWhileSomebodyWaitsIsTheOneThatCounts) {
  FenceGate gate = open();
  const std::filesystem::path restored = dir_ / "restored";
  ASSERT_TRUE(FenceGate::in_file(restored).value().enter(Token(50)));
  auto inside = std::make_unique<FenceGate::Pass>(gate.enter(Token(5)).value());
  std::thread waiting([this] { EXPECT_EQ(open().enter(Token(40)).code(), Code::stale_token); });
  fence_testing::pause_ms(50);
  std::filesystem::rename(restored, path_);
  inside.reset();
  waiting.join();
}

TEST_F(FileMarkTest, CreationKilledHalfwayIsRepeated) {
  spill(path_, "");
  spill(path_.string() + ".init", "half an ima");
  ASSERT_TRUE(open().enter(Token(1)));
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".init"));
}

TEST_F(FileMarkTest, ProcessesThatCreateItTogetherShareOneMark) {
  for (int round = 0; round < 20; ++round) {
    std::filesystem::remove(path_);
    std::vector<fence_testing::Child> children;
    for (std::uint64_t token = 1; token <= 4; ++token) {
      children.emplace_back([this, token] {
        auto pass = open().enter(Token(token));
        return pass || pass.code() == Code::stale_token ? 0 : 1;
      });
    }
    for (auto& child : children) EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(open().mark().value(), Token(4)) << round;
  }
}

TEST_F(FileMarkTest, WorkingDirectoryMayChangeAfterwards) {
  EXPECT_EQ(in_child([this] {
              std::filesystem::current_path(dir_.path());
              FenceGate gate = FenceGate::in_file("x.fence").value();
              std::filesystem::current_path("/");
              EXPECT_TRUE(gate.enter(Token(3)));
              return verdict();
            }),
            0);
  EXPECT_EQ(open().mark().value(), Token(3));
}

TEST_F(FileMarkTest, UnusablePathsAreExplained) {
  EXPECT_EQ(FenceGate::in_file("").code(), Code::invalid_argument);
  EXPECT_EQ(FenceGate::in_file(dir_.path()).code(), Code::misconfigured);
  EXPECT_EQ(FenceGate::in_file("/dev/null").code(), Code::misconfigured);
  EXPECT_EQ(FenceGate::in_file(dir_ / std::string(300, 'x').c_str()).code(),
            Code::invalid_argument);

  auto absent = FenceGate::in_file(dir_ / "no" / "x.fence");
  EXPECT_EQ(absent.code(), Code::misconfigured);
  EXPECT_NE(absent.message().find((dir_ / "no").string()), std::string::npos) << absent.message();
  EXPECT_NE(absent.message().find("No such file"), std::string::npos) << absent.message();
  EXPECT_NE(absent.message().find("create the directory"), std::string::npos) << absent.message();
}

}  // namespace
}  // namespace holdfast
