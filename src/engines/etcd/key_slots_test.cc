#include "engines/etcd/key_slots.h"

#include <gtest/gtest.h>

#include "lab/sim/sim_runtime.h"

namespace holdfast::internal::etcd {
namespace {

class EtcdKeySlotsTest : public testing::Test {
 protected:
  static Claim claim(std::uint8_t who, const char* name = "x") {
    Claim claim{.name = name};
    claim.id = ClaimId({who});
    return claim;
  }

  SimWorld world_{1};
  SimRuntime runtime_{world_};
  KeySlots slots_{runtime_};
};

TEST_F(EtcdKeySlotsTest, ClaimsAtTheSameTimeHaveDifferentSlots) {
  EXPECT_NE(slots_.take(claim(1)), slots_.take(claim(2)));
}

TEST_F(EtcdKeySlotsTest, AClaimKeepsItsSlotWhenItAsksAgain) {
  const KeySlot first = slots_.take(claim(1));
  slots_.take(claim(2));
  EXPECT_EQ(slots_.take(claim(1)), first);
  EXPECT_EQ(slots_.find(claim(1).id), first);
}

TEST_F(EtcdKeySlotsTest, ASlotThatWasLeftIsUsedAgain) {
  const KeySlot first = slots_.take(claim(1));
  const KeySlot second = slots_.take(claim(2));
  slots_.free(claim(1).id);
  EXPECT_EQ(slots_.take(claim(3)), first);
  slots_.free(claim(2).id);
  EXPECT_EQ(slots_.take(claim(4)), second);
  EXPECT_EQ(slots_.find(claim(1).id), std::nullopt);
}

TEST_F(EtcdKeySlotsTest, AThousandOneAfterTheOtherNeedOneSlot) {
  const KeySlot first = slots_.take(claim(1));
  slots_.free(claim(1).id);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(slots_.take(claim(2)), first);
    slots_.free(claim(2).id);
  }
}

TEST_F(EtcdKeySlotsTest, ARetiredSlotIsNeverUsedAgain) {
  const KeySlot retired = slots_.take(claim(1));
  slots_.retire(claim(1).id);
  for (std::uint8_t i = 2; i < 10; ++i) {
    ASSERT_NE(slots_.take(claim(i)), retired);
    slots_.free(claim(i).id);
  }
  slots_.free(claim(1).id);  // too late
  EXPECT_NE(slots_.take(claim(1)), retired);
}

TEST_F(EtcdKeySlotsTest, TwoClientsNeverHaveTheSameSlot) {
  KeySlots others(runtime_);
  EXPECT_NE(slots_.take(claim(1)), others.take(claim(1)));
}

}  // namespace
}  // namespace holdfast::internal::etcd
