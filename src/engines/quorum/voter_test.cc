// How it could break: a node that was silent is asked although the others suffice, and every call waits
// for it; or it is not asked although without it there is no majority, so that a lock is declared lost
// (or "nobody holds it" is said) on the word of a minority; or a node is asked twice, and counts twice.
#include "engines/quorum/voter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string_view>

namespace holdfast::internal::quorum {
namespace {

// Only whether it answers matters here.
class SilentOrNot final : public Voter {
 public:
  explicit SilentOrNot(bool responsive) : responsive_(responsive) {}
  bool responsive() override { return responsive_; }
  void set_responsive(bool responsive) { responsive_ = responsive; }

  std::string display() const override { return "a node"; }
  Task<Result<void>> ready(Deadline) override { return none<Result<void>>(); }
  Task<Ballot> vote(const Claim&, const Proposal&, Deadline) override { return none<Ballot>(); }
  Task<Ballot> fence(const Claim&, const Proposal&, Deadline) override { return none<Ballot>(); }
  Task<std::vector<Result<Standing>>> renew(std::vector<Hold>, Deadline) override {
    return none<std::vector<Result<Standing>>>();
  }
  Task<Result<bool>> release(const Claim&, const Return&, Deadline) override {
    return none<Result<bool>>();
  }
  Task<Result<bool>> evict(const Name&, Token, Deadline) override { return none<Result<bool>>(); }
  Task<Result<LockInfo>> inspect(const Name&, Deadline) override {
    return none<Result<LockInfo>>();
  }
  Task<Result<std::vector<Name>>> names(const std::string&, Deadline) override {
    return none<Result<std::vector<Name>>>();
  }
  Task<Result<void>> listen(Deadline, std::stop_token) override { return none<Result<void>>(); }
  bool listening() const override { return false; }
  std::unique_ptr<Waiter> enqueue(const Claim&, Event&) override { return nullptr; }
  Task<bool> watch(const Name&, Deadline) override { return none<bool>(); }
  void stop() override {}

 private:
  // Whom to ask is decided without asking.
  template <class T>
  static Task<T> none() {
    throw std::logic_error("a node was asked");
  }

  bool responsive_;
};

class Nodes final : public Electorate {
 public:
  // '+' answers, '-' does not.
  explicit Nodes(std::string_view states) {
    for (const char state : states) voters_.emplace_back(state == '+');
  }
  const Guarantees& guarantees() const override { return guarantees_; }
  std::size_t size() const override { return voters_.size(); }
  SilentOrNot& voter(std::size_t index) override { return voters_.at(index); }
  Task<Result<bool>> open(Duration, Deadline) override {
    throw std::logic_error("the electorate was opened");
  }

 private:
  Guarantees guarantees_{};
  std::vector<SilentOrNot> voters_;
};

using Asked = std::vector<std::size_t>;

Asked asked(std::string_view states) {
  Nodes nodes(states);
  return nodes_to_ask(nodes);
}

TEST(NodesToAsk, AllWhoAnswer) { EXPECT_EQ(asked("+++++"), (Asked{0, 1, 2, 3, 4})); }

TEST(NodesToAsk, NobodyWaitsForWhoIsSilentWhileTheOthersAreAMajority) {
  EXPECT_EQ(asked("-++++"), (Asked{1, 2, 3, 4}));
  EXPECT_EQ(asked("+-+-+"), (Asked{0, 2, 4})) << "three of five are just enough";
  EXPECT_EQ(asked("++-"), (Asked{0, 1}));
}

TEST(NodesToAsk, AllIfThoseWhoAnswerAreNoMajority) {
  EXPECT_EQ(asked("+-+--"), (Asked{0, 1, 2, 3, 4})) << "each once, those who answer too";
  EXPECT_EQ(asked("--+"), (Asked{0, 1, 2}));
  EXPECT_EQ(asked("-----"), (Asked{0, 1, 2, 3, 4}));
}

TEST(NodesToAsk, HalfIsNoMajority) {
  EXPECT_EQ(asked("++--"), (Asked{0, 1, 2, 3}));
  EXPECT_EQ(asked("+++-"), (Asked{0, 1, 2}));
  EXPECT_EQ(asked("+-"), (Asked{0, 1}));
}

TEST(NodesToAsk, ASingleNodeIsAskedEitherWay) {
  EXPECT_EQ(asked("+"), Asked{0});
  EXPECT_EQ(asked("-"), Asked{0});
}

TEST(NodesToAsk, WhoAnswersAgainIsAskedAgain) {
  Nodes nodes("-++");
  EXPECT_EQ(nodes_to_ask(nodes), (Asked{1, 2}));
  nodes.voter(0).set_responsive(true);
  EXPECT_EQ(nodes_to_ask(nodes), (Asked{0, 1, 2}));
}

// All states of up to seven nodes: never fewer than a majority, nobody twice, in order.
TEST(NodesToAsk, AMajorityIsAlwaysAskedAndNobodyTwice) {
  for (std::size_t size = 1; size <= 7; ++size) {
    for (unsigned bits = 0; bits < 1U << size; ++bits) {
      std::string states;
      for (std::size_t node = 0; node < size; ++node) states += (bits >> node & 1) != 0 ? '+' : '-';
      const Asked nodes = asked(states);
      EXPECT_GT(2 * nodes.size(), size) << states;
      EXPECT_LT(nodes.back(), size) << states;
      EXPECT_TRUE(std::ranges::is_sorted(nodes, std::less_equal())) << states;
      for (std::size_t node = 0; node < size; ++node) {
        if (states[node] == '-') continue;
        EXPECT_TRUE(std::ranges::binary_search(nodes, node)) << states << ": " << node;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::internal::quorum
