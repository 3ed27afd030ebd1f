#include "engines/quorum/campaign.h"

#include <gtest/gtest.h>

#include "lab/sim/sim_runtime.h"

namespace holdfast::internal::quorum {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// A node whose vote comes when the test says so, and whose releases are counted.
class PlayedVoter final : public Voter {
 public:
  explicit PlayedVoter(Runtime& runtime) : answer(runtime) {}

  Event answer;
  Ballot ballot;
  int releases = 0;

  std::string display() const override { return "played"; }
  bool responsive() override { return true; }
  Task<Result<void>> ready(Deadline) override { co_return Result<void>(); }
  Task<Ballot> vote(const Claim&, const Proposal&, Deadline) override {
    co_await answer.wait();
    co_return ballot;
  }
  Task<Ballot> fence(const Claim&, const Proposal&, Deadline) override { co_return ballot; }
  Task<std::vector<Result<Standing>>> renew(std::vector<Hold>, Deadline) override {
    co_return std::vector<Result<Standing>>();
  }
  Task<Result<bool>> release(const Claim&, const Return&, Deadline) override {
    ++releases;
    co_return false;
  }
  Task<Result<bool>> evict(const Name&, Token, Deadline) override { co_return false; }
  Task<Result<LockInfo>> inspect(const Name& name, Deadline) override {
    co_return LockInfo{.name = name};
  }
  Task<Result<std::vector<Name>>> names(const std::string&, Deadline) override {
    co_return std::vector<Name>();
  }
  Task<Result<void>> listen(Deadline, std::stop_token) override { co_return Result<void>(); }
  bool listening() const override { return true; }
  std::unique_ptr<Waiter> enqueue(const Claim&, Event&) override { return nullptr; }
  Task<bool> watch(const Name&, Deadline) override { co_return false; }
  void stop() override {}
};

class PlayedElectorate final : public Electorate {
 public:
  explicit PlayedElectorate(Runtime& runtime) : node(runtime) {}
  PlayedVoter node;

  const Guarantees& guarantees() const override { return guarantees_; }
  std::size_t size() const override { return 1; }
  Voter& voter(std::size_t) override { return node; }
  Task<Result<bool>> open(Duration, Deadline) override { co_return false; }

 private:
  Guarantees guarantees_;
};

// A caller gives up before the vote is answered; what it may have is given back behind the vote.
// Then the answer comes: locked.
int releases_when_the_vote_comes_late(bool resent) {
  SimWorld world(1);
  SimRuntime runtime(world);
  PlayedElectorate electorate(runtime);
  electorate.node.ballot.kind = Ballot::Kind::locked;
  electorate.node.ballot.accepted = true;
  electorate.node.ballot.resent = resent;
  Campaign campaign(runtime, electorate, QuorumOptions{});
  const Claim claim{.name = Name("x"), .ttl = 10s};
  std::stop_source stop;
  TaskGroup group(runtime);
  const auto attempt = [&]() -> Task<void> {
    const Campaign::Outcome outcome =
        co_await campaign.attempt(claim, std::nullopt, Deadline::never(), stop.get_token());
    EXPECT_FALSE(outcome.grant);
  };
  group.spawn(attempt());
  stop.request_stop();
  EXPECT_TRUE(world.run([&] { return group.size() == 0; }, world.now() + 5s));
  EXPECT_EQ(electorate.node.releases, 1) << "what was asked for was not given back";
  electorate.node.answer.set();
  world.run([] { return false; }, world.now() + 1s);
  return electorate.node.releases;
}

TEST(CampaignTest, AVoteThatIsAnsweredLateWasGivenBackByTheReleaseBehindIt) {
  EXPECT_EQ(releases_when_the_vote_comes_late(false), 1);
}

// The release was behind the first request, and in front of the second.
TEST(CampaignTest, AVoteThatHadToBeAskedForTwiceIsGivenBackOnceMore) {
  EXPECT_EQ(releases_when_the_vote_comes_late(true), 2);
}

}  // namespace
}  // namespace holdfast::internal::quorum
