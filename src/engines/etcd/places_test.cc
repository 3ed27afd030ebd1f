#include "engines/etcd/places.h"

#include <gtest/gtest.h>

#include "lab/sim/sim_runtime.h"

namespace holdfast::internal::etcd {
namespace {

class EtcdPlacesTest : public testing::Test {
 protected:
  static Claim claim(std::uint8_t who, const char* name = "x") {
    Claim claim{.name = name};
    claim.id = ClaimId({who});
    return claim;
  }

  SimWorld world_{1};
  SimRuntime runtime_{world_};
  Places places_{runtime_};
};

TEST_F(EtcdPlacesTest, ClaimsAtTheSameTimeHaveDifferentPlaces) {
  EXPECT_NE(places_.take(claim(1)), places_.take(claim(2)));
}

TEST_F(EtcdPlacesTest, AClaimKeepsItsPlaceWhenItAsksAgain) {
  const Place first = places_.take(claim(1));
  places_.take(claim(2));
  EXPECT_EQ(places_.take(claim(1)), first);
  EXPECT_EQ(places_.find(claim(1).id), first);
}

TEST_F(EtcdPlacesTest, APlaceThatWasLeftIsUsedAgain) {
  const Place first = places_.take(claim(1));
  const Place second = places_.take(claim(2));
  places_.free(claim(1).id);
  EXPECT_EQ(places_.take(claim(3)), first);
  places_.free(claim(2).id);
  EXPECT_EQ(places_.take(claim(4)), second);
  EXPECT_EQ(places_.find(claim(1).id), std::nullopt);
}

TEST_F(EtcdPlacesTest, AThousandOneAfterTheOtherNeedOnePlace) {
  const Place first = places_.take(claim(1));
  places_.free(claim(1).id);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(places_.take(claim(2)), first);
    places_.free(claim(2).id);
  }
}

TEST_F(EtcdPlacesTest, ABurntPlaceIsNeverUsedAgain) {
  const Place burnt = places_.take(claim(1));
  places_.burn(claim(1).id);
  for (std::uint8_t i = 2; i < 10; ++i) {
    ASSERT_NE(places_.take(claim(i)), burnt);
    places_.free(claim(i).id);
  }
  places_.free(claim(1).id);  // too late
  EXPECT_NE(places_.take(claim(1)), burnt);
}

TEST_F(EtcdPlacesTest, TwoClientsNeverHaveTheSamePlace) {
  Places others(runtime_);
  EXPECT_NE(places_.take(claim(1)), others.take(claim(1)));
}

}  // namespace
}  // namespace holdfast::internal::etcd
