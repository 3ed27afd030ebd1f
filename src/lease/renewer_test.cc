#include "lease/renewer.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "lab/sim/sim_runtime.h"

namespace holdfast::internal {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// Renews what it holds, when the test lets it, and says so when it is in doubt.
class PlayedEngine final : public Engine {
 public:
  explicit PlayedEngine(Runtime& runtime) : Engine(runtime), may_answer(runtime) {
    may_answer.set();
  }

  Event may_answer;
  std::vector<ClaimId> gone;
  int asked = 0;

  using Engine::doubt;

  const Guarantees& guarantees() const override { return guarantees_; }
  Task<std::vector<Result<Grant>>> renew(std::span<const Hold> holds, Deadline) override {
    std::vector<Result<Grant>> outcomes;
    for (const Hold& hold : holds) {
      ++asked;
      const bool is_gone = std::find(gone.begin(), gone.end(), hold.claim.id) != gone.end();
      if (is_gone) {
        outcomes.emplace_back(Failure(Code::not_held, "gone"));
      } else {
        outcomes.emplace_back(Grant{hold.token, runtime().now(), hold.claim.ttl});
      }
    }
    co_await may_answer.wait();
    co_return outcomes;
  }

  Task<Result<Grant>> acquire(const Claim&, const Wait&) override { co_return unused(); }
  Task<Result<bool>> release(const Claim&, Deadline) override { co_return unused(); }
  Task<Result<void>> detach(const Hold&, Deadline) override { co_return unused(); }
  Task<Result<std::vector<LockInfo>>> list(const std::string&, Deadline) override {
    co_return unused();
  }
  Task<Result<LockInfo>> inspect(const Name&, Deadline) override { co_return unused(); }
  Task<Result<void>> evict(const Name&, Token, Deadline) override { co_return unused(); }

 private:
  static Failure unused() { return Failure(Code::unsupported, "not played"); }
  Guarantees guarantees_;
};

class RenewerTest : public testing::Test {
 protected:
  std::shared_ptr<LeaseRecord> hold(std::uint64_t number, bool auto_renew = true) {
    Claim claim{.name = "lock", .id = draw_claim_id(runtime), .ttl = 30s};
    const Grant grant{Token(number), runtime.now(), 30s};
    const LockOptions options{.ttl = 30s, .auto_renew = auto_renew};
    auto record = std::make_shared<LeaseRecord>(nullptr, Hold{std::move(claim), grant.token},
                                                options, validity_of(grant, {}));
    renewer.add(*record, grant);
    return record;
  }
  void TearDown() override { tasks.abandon(); }

  void run() {
    world.run([] { return false; }, world.now() + 1s);
  }

  SimWorld world{1};
  SimRuntime runtime{world};
  PlayedEngine engine{runtime};
  TaskGroup tasks{runtime};
  Observer observer;
  Renewer renewer{runtime, engine, tasks, observer, 5s};
};

TEST_F(RenewerTest, AHoldThatIsGoneIsLostAtTheDoubt) {
  const auto one = hold(1);
  const auto two = hold(2);
  engine.gone = {one->hold.claim.id};
  engine.doubt();
  run();
  EXPECT_TRUE(one->loss.token().stop_requested());
  EXPECT_FALSE(two->loss.token().stop_requested());
  EXPECT_TRUE(two->validity.held(runtime.now()));
  EXPECT_EQ(engine.asked, 2);
  renewer.remove(*two);
}

TEST_F(RenewerTest, ADoubtAboutOneHoldAsksAboutThatOneOnly) {
  const auto one = hold(1, /*auto_renew=*/false);
  const auto two = hold(2);
  engine.gone = {one->hold.claim.id, two->hold.claim.id};
  engine.doubt(one->hold.claim.id);
  run();
  EXPECT_TRUE(one->loss.token().stop_requested());
  EXPECT_FALSE(two->loss.token().stop_requested());
  EXPECT_EQ(engine.asked, 1);
  renewer.remove(*two);
}

// The answer that is under way was given before the doubt: it must not quiet it.
TEST_F(RenewerTest, ADoubtDuringARenewalAsksOnceMore) {
  const auto one = hold(1);
  engine.may_answer.reset();
  engine.doubt();
  run();
  ASSERT_EQ(engine.asked, 1);
  engine.gone = {one->hold.claim.id};
  engine.doubt();
  engine.may_answer.set();
  run();
  EXPECT_EQ(engine.asked, 2);
  EXPECT_TRUE(one->loss.token().stop_requested());
}

TEST_F(RenewerTest, NothingIsAskedAboutWhatWasRemoved) {
  const auto one = hold(1);
  const auto two = hold(2);
  const auto three = hold(3);
  renewer.remove(*two);
  engine.doubt();
  run();
  EXPECT_EQ(engine.asked, 2);
  renewer.remove(*one);
  renewer.remove(*three);
}

}  // namespace
}  // namespace holdfast::internal
