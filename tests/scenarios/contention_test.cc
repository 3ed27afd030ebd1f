// Row 23: many clients want the lock at the same moment and split the votes.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "child/critical_section.h"
#include "scenario_testing.h"
#include "temp_dir.h"

namespace holdfast::scenarios {
namespace {

using contract::CriticalSection;

// How long nobody may have to wait. Votes that stay split would take for ever.
constexpr Duration kStarved = 20s;

class ContentionTest : public testing::Test {
 protected:
  struct Share {
    int sections = 0;
    std::string trouble;
  };

  // Every client, through its own url, until all together went through `total` sections.
  std::vector<Share> contend(const std::vector<std::string>& urls, int total) {
    std::vector<Share> shares(urls.size());
    std::vector<std::thread> threads;
    std::atomic<int> left = total;
    const std::uint64_t seed = dice_.below(1'000'000'000);
    for (std::size_t i = 0; i < urls.size(); ++i) {
      threads.emplace_back([&, i] {
        std::mt19937_64 pauses(seed + i);
        Client client = open(urls[i]);
        Mutex mutex = client.mutex("x");
        while (left.load() > 0 && shares[i].trouble.empty()) {
          Result<Lease> lease = mutex.try_acquire_for(kStarved);
          if (!lease) {
            shares[i].trouble = told(lease);
            break;
          }
          section_.pass(lease->token().value());
          pause_for(std::chrono::microseconds(pauses() % 500));
          // Whoever comes when the count is reached has passed, too; it does not count.
          if (left.fetch_sub(1) > 0) ++shares[i].sections;
          if (const Result<void> released = lease->release(); !released) {
            shares[i].trouble = released.message();
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return shares;
  }

  void expect_order_and_fair_shares(const std::vector<Share>& shares, int total) {
    const int mean = total / static_cast<int>(shares.size());
    int sum = 0;
    for (const Share& share : shares) {
      EXPECT_EQ(share.trouble, "");
      EXPECT_GE(share.sections, mean / 3);
      sum += share.sections;
    }
    EXPECT_EQ(sum, total);
    EXPECT_EQ(section_.state().overlaps, 0U);
    EXPECT_EQ(section_.state().disorder, 0U) << "tokens did not grow in the order of the grants";
    EXPECT_GE(section_.state().counter, static_cast<std::uint64_t>(total));
  }

  Dice dice_;
  const testing::ScopedTrace trace_{__FILE__, __LINE__, dice_.describe()};
  Nodes nodes_;
  test::TempDir directory_;
  CriticalSection section_{directory_.path() / "section"};
};

// given  three clients that want the same lock again and again
// when   they ask at the same moment
// then   each gets its share, one after the other, with tokens in the order of the grants
TEST_F(ContentionTest, ThreeClientsAllGetTheirShare) {
  break_in(nodes_);
  const int total = 300;
  const std::vector<std::string> urls(3, nodes_.url());
  expect_order_and_fair_shares(contend(urls, total), total);
}

TEST_F(ContentionTest, EightClientsAllGetTheirShare) {
  break_in(nodes_);
  const int total = 320;
  const std::vector<std::string> urls(8, nodes_.url());
  expect_order_and_fair_shares(contend(urls, total), total);
}

// The same, and the nodes are new: whoever comes first makes them ready for all.
TEST_F(ContentionTest, EightClientsOfNewNodesAllGetTheirShare) {
  const int total = 160;
  const std::vector<std::string> urls(8, nodes_.url());
  expect_order_and_fair_shares(contend(urls, total), total);
}

// given  each of three clients is near to some nodes and far from the others
// when   they ask at the same moment, so that each gets the votes of its neighbours and nobody three
// then   they get through all the same, and each gets its share
TEST_F(ContentionTest, ClientsWhoseVotesAreSplitByDistanceAllGetTheirShare) {
  break_in(nodes_);
  View near_1_and_2(nodes_);
  View near_3_and_4(nodes_);
  View near_5(nodes_);
  const auto slow = [](View& view, std::initializer_list<int> numbers) {
    for (const int number : numbers) view.slow_down(number, 6ms);
  };
  slow(near_1_and_2, {3, 4, 5});
  slow(near_3_and_4, {1, 2, 5});
  slow(near_5, {1, 2, 3, 4});
  const int total = 90;
  const std::vector<std::string> urls{near_1_and_2.url(), near_3_and_4.url(), near_5.url()};
  expect_order_and_fair_shares(contend(urls, total), total);
}

}  // namespace
}  // namespace holdfast::scenarios
