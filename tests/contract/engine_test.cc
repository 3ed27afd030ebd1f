// The Engine interface itself, driven inside the client's loop: everything is idempotent by the
// claim's id.
#include "contract.h"
#include "probe.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(EngineTest);

namespace {

Claim claim_of(std::uint8_t who, Mode mode = Mode::exclusive, std::uint32_t permits = 1) {
  return Claim{.name = "x",
               .id = ClaimId({who}),
               .mode = mode,
               .permits = permits,
               .ttl = 30s,
               .label = "claim " + std::to_string(who)};
}

Deadline soon() { return Deadline::at(BootClock::now() + 10s); }
Wait no_wait() { return Wait{.deadline = soon(), .queue = false, .stop = {}}; }

// GCC 12 rejects braced lists inside co_await expressions; these keep them out.
Task<Result<Grant>> take(Engine& engine, Claim claim) {
  const Wait wait = no_wait();
  co_return co_await engine.acquire(claim, wait);
}
Task<Result<bool>> give(Engine& engine, Claim claim) {
  co_return co_await engine.release(claim, soon());
}
Task<Result<Grant>> renew(Engine& engine, Claim claim, Token token) {
  const std::vector<Hold> holds{Hold{claim, token}};
  std::vector<Result<Grant>> outcomes = co_await engine.renew(holds, soon());
  EXPECT_EQ(outcomes.size(), 1U);
  co_return outcomes.at(0);
}
Task<LockInfo> look(Engine& engine) {
  const Name name("x");
  Result<LockInfo> info = co_await engine.inspect(name, soon());
  co_return info.value();
}

std::vector<Claim> all_modes(const EngineUnderTest& engine) {
  std::vector<Claim> claims{claim_of(1)};
  if (engine.shared_mode) claims.push_back(claim_of(2, Mode::shared));
  if (engine.permit_mode) claims.push_back(claim_of(3, Mode::permit, 2));
  return claims;
}

}  // namespace

TEST_P(EngineTest, AcquiringTwiceWithOneIdGivesTheSameTokenAndOneHold) {
  Probe probe(url());
  probe.inside([this](Engine& it) -> Task<void> {
    for (const Claim& claim : all_modes(engine())) {
      const Result<Grant> first = co_await take(it, claim);
      const Result<Grant> again = co_await take(it, claim);
      EXPECT_EQ(outcome_of(again), "granted") << mode_name(claim.mode);
      if (first && again) {
        EXPECT_EQ(first->token, again->token);
      }
      const LockInfo info = co_await look(it);
      EXPECT_EQ(info.holders.size(), 1U);
      const Result<bool> released = co_await give(it, claim);
      EXPECT_TRUE(released && *released);
      const LockInfo after = co_await look(it);
      EXPECT_TRUE(after.holders.empty()) << "one release did not end it";
    }
  });
}

TEST_P(EngineTest, ReleaseByAnotherIdChangesNothing) {
  Probe probe(url());
  probe.inside([this](Engine& it) -> Task<void> {
    for (const Claim& claim : all_modes(engine())) {
      EXPECT_TRUE(co_await take(it, claim));
      Claim other = claim;
      other.id = ClaimId({99});
      const Result<bool> released = co_await give(it, other);
      EXPECT_TRUE(released && !*released) << mode_name(claim.mode);
      const LockInfo info = co_await look(it);
      EXPECT_EQ(info.holders.size(), 1U);
      EXPECT_TRUE(co_await give(it, claim));
    }
  });
}

TEST_P(EngineTest, ReleasingTwiceIsHarmless) {
  Probe probe(url());
  probe.inside([this](Engine& it) -> Task<void> {
    for (const Claim& claim : all_modes(engine())) {
      EXPECT_TRUE(co_await take(it, claim));
      const Result<bool> first = co_await give(it, claim);
      EXPECT_TRUE(first && *first);
      EXPECT_TRUE(co_await take(it, claim_of(50)));  // Somebody else has it now.
      const Result<bool> again = co_await give(it, claim);
      EXPECT_TRUE(again && !*again);
      const LockInfo info = co_await look(it);
      EXPECT_EQ(info.holders.size(), 1U);
      EXPECT_TRUE(co_await give(it, claim_of(50)));
    }
  });
}

TEST_P(EngineTest, ReleaseOfANameThatNobodyEverHeldIsHarmless) {
  Probe probe(url());
  probe.inside([](Engine& it) -> Task<void> {
    const Result<bool> released = co_await give(it, claim_of(1));
    EXPECT_TRUE(released && !*released);
  });
}

TEST_P(EngineTest, RenewNeverCreatesAHold) {
  Probe probe(url());
  probe.inside([this](Engine& it) -> Task<void> {
    for (const Claim& claim : all_modes(engine())) {
      const Result<Grant> created = co_await renew(it, claim, Token(1));
      EXPECT_EQ(outcome_of(created), "not_held") << mode_name(claim.mode);
      const LockInfo info = co_await look(it);
      EXPECT_TRUE(info.holders.empty());
    }
  });
}

TEST_P(EngineTest, RenewAfterReleaseDoesNotResurrect) {
  Probe probe(url());
  probe.inside([this](Engine& it) -> Task<void> {
    for (const Claim& claim : all_modes(engine())) {
      const Result<Grant> grant = co_await take(it, claim);
      EXPECT_TRUE(grant);
      EXPECT_TRUE(co_await give(it, claim));
      const Result<Grant> revived = co_await renew(it, claim, grant->token);
      EXPECT_EQ(outcome_of(revived), "not_held") << mode_name(claim.mode);
      const LockInfo info = co_await look(it);
      EXPECT_TRUE(info.holders.empty());
    }
  });
}

// A release that came first (cleaning up) must not let a later acquire of the same id find the
// old hold again: it is a new grant with a new token.
TEST_P(EngineTest, AcquiringAgainAfterReleaseIsANewGrant) {
  Probe probe(url());
  probe.inside([this](Engine& it) -> Task<void> {
    for (const Claim& claim : all_modes(engine())) {
      const Result<Grant> before = co_await take(it, claim);
      EXPECT_TRUE(co_await give(it, claim));
      const Result<Grant> after = co_await take(it, claim);
      EXPECT_TRUE(before && after && after->token > before->token) << mode_name(claim.mode);
      EXPECT_TRUE(co_await give(it, claim));
    }
  });
}

TEST_P(EngineTest, RenewalKeepsTheTokenAndCountsFromBeforeItWasSent) {
  Probe probe(url());
  probe.inside([this](Engine& it) -> Task<void> {
    for (const Claim& claim : all_modes(engine())) {
      const Result<Grant> grant = co_await take(it, claim);
      const BootTime before = BootClock::now();
      const Result<Grant> renewed = co_await renew(it, claim, grant->token);
      const BootTime after = BootClock::now();
      EXPECT_EQ(outcome_of(renewed), "granted");
      EXPECT_EQ(renewed->token, grant->token);
      EXPECT_GE(renewed->counted_from, before);
      EXPECT_LE(renewed->counted_from, after);
      EXPECT_TRUE(co_await give(it, claim));
    }
  });
}

TEST_P(EngineTest, ABatchOfRenewalsAnswersForEachInOrder) {
  Probe probe(url());
  probe.inside([](Engine& it) -> Task<void> {
    std::vector<Hold> holds;
    const Wait wait = no_wait();
    for (std::uint8_t i = 0; i < 20; ++i) {
      Claim claim = claim_of(i);
      claim.name = "x" + std::to_string(i);
      const Result<Grant> grant = co_await it.acquire(claim, wait);
      holds.push_back(Hold{claim, grant->token});
      if (i % 3 == 0) {
        EXPECT_TRUE(co_await give(it, claim));
      }
    }
    const std::vector<Result<Grant>> outcomes = co_await it.renew(holds, soon());
    EXPECT_EQ(outcomes.size(), holds.size());
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      EXPECT_EQ(outcome_of(outcomes[i]), i % 3 == 0 ? "not_held" : "granted") << i;
    }
  });
}

TEST_P(EngineTest, ReleaseEndsAWaitAsWellAsAHold) {
  HOLDFAST_NEEDS(shows_waiters);
  Probe probe(url());
  Probe other(url());
  Lease lease = other.client->mutex("x").acquire().value();
  probe.inside([&](Engine& it) -> Task<void> {
    TaskGroup group(*probe.runtime);
    std::optional<Result<Grant>> waited;
    std::stop_source stop;
    const auto wait_for_it = [](Engine& engine, std::optional<Result<Grant>>& out,
                                std::stop_token until) -> Task<void> {
      const Claim claim = claim_of(1);
      const Wait wait{.deadline = soon(), .queue = true, .stop = until};
      out = co_await engine.acquire(claim, wait);
    };
    group.spawn(wait_for_it(it, waited, stop.get_token()));
    LockInfo queued = co_await look(it);
    while (queued.waiters.empty() && !waited) queued = co_await look(it);
    EXPECT_EQ(queued.waiters.size(), 1U);
    const Result<bool> ended = co_await give(it, claim_of(1));
    EXPECT_TRUE(ended && !*ended) << "a wait is not a hold";
    const LockInfo after = co_await look(it);
    EXPECT_TRUE(after.waiters.empty());
    stop.request_stop();
    EXPECT_TRUE(co_await group.join(soon()));
    EXPECT_TRUE(waited && !waited->ok());
  });
  ASSERT_TRUE(lease.release());
  expect_nothing_left(*other.client, "x");
}

}  // namespace holdfast::contract
