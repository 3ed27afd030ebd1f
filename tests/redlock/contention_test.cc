// Many at once: one at a time, in the order of their tokens, nobody left out, and votes that were
// split among several are yielded.
#include <barrier>
#include <map>

#include "redlock_testing.h"

namespace holdfast::redlock_tests {
namespace {

// Records the critical sections, in order.
class Section {
 public:
  void enter(int who, Token token) {
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two are inside";
    const std::lock_guard lock(mutex_);
    EXPECT_GT(token, last_) << "a token that is not above the last";
    last_ = token;
    ++times_[who];
    ++total_;
  }
  void leave() { --inside_; }
  int total() {
    const std::lock_guard lock(mutex_);
    return total_;
  }
  int times(int who) {
    const std::lock_guard lock(mutex_);
    return times_[who];
  }

 private:
  std::atomic<int> inside_ = 0;
  std::mutex mutex_;
  Token last_;
  std::map<int, int> times_;
  int total_ = 0;
};

class RedlockContention : public RedlockOfThree {};

TEST_F(RedlockContention, ContendersTakeTurnsInTheOrderOfTheirTokens) {
  constexpr int kContenders = 8;
  constexpr int kTotal = 160;
  Section section;
  std::vector<std::jthread> threads;
  for (int who = 0; who < kContenders; ++who) {
    threads.emplace_back([&, who] {
      Client client = open(masters_.url());
      while (section.total() < kTotal) {
        Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(20s);
        ASSERT_EQ(told(lease), "granted");
        section.enter(who, lease->token());
        section.leave();
        ASSERT_EQ(told(lease->release()), "granted");
      }
    });
  }
  threads.clear();
  for (int who = 0; who < kContenders; ++who) {
    EXPECT_GE(section.times(who), kTotal / kContenders / 4) << who << " hardly got in";
  }
  expect_free_soon(client_, "x", 1s);
  EXPECT_EQ(waiters(client_, "x"), 0U);
}

TEST_F(RedlockContention, ThoseWhoComeAtTheSameInstantAllGetThrough) {
  constexpr int kClients = 12;
  std::vector<Client> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(open(masters_.url()));
    ASSERT_EQ(told(clients.back().mutex("warm", kLong).try_acquire_for(5s)), "granted");
  }
  Section section;
  std::barrier start(kClients);
  std::vector<std::jthread> threads;
  const BootTime begun = BootClock::now();
  for (int who = 0; who < kClients; ++who) {
    threads.emplace_back([&, who] {
      for (int round = 0; round < 3; ++round) {
        start.arrive_and_wait();
        Result<Lease> lease =
            clients[static_cast<std::size_t>(who)].mutex("x", kLong).try_acquire_for(10s);
        EXPECT_EQ(told(lease), "granted");
        if (!lease) continue;
        section.enter(who, lease->token());
        section.leave();
        EXPECT_EQ(told(lease->release()), "granted");
      }
    });
  }
  threads.clear();
  EXPECT_EQ(section.total(), kClients * 3);
  EXPECT_LT(since(begun), 10s);
}

// Nobody waits, and yet somebody gets it: not all of them give way to all.
TEST_F(RedlockContention, OfThoseWhoTryAtTheSameInstantOneSucceeds) {
  constexpr int kClients = 5;
  constexpr int kRounds = 10;
  std::vector<Client> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(open(masters_.url()));
    ASSERT_EQ(told(clients.back().mutex("warm", kLong).try_acquire_for(5s)), "granted");
  }
  std::barrier together(kClients);
  std::array<std::atomic<int>, kRounds> granted{};
  std::vector<std::jthread> threads;
  for (int who = 0; who < kClients; ++who) {
    threads.emplace_back([&, who] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        const std::string name = "x" + std::to_string(round);
        together.arrive_and_wait();
        Result<Lease> lease =
            clients[static_cast<std::size_t>(who)].mutex(name, kLong).try_acquire();
        if (lease) {
          ++granted[round];
        } else {
          EXPECT_EQ(outcome_of(lease), "busy") << lease.message();
        }
        together.arrive_and_wait();
      }
    });
  }
  threads.clear();
  int rounds_won = 0;
  for (std::atomic<int>& winners : granted) {
    EXPECT_LE(winners, 1) << "two have it";
    rounds_won += winners;
  }
  EXPECT_GE(rounds_won, kRounds * 8 / 10);
}

// Two of three have to agree then, each of them with everybody.
TEST_F(RedlockContention, ContendersGetThroughWhileANodeIsSilent) {
  constexpr int kContenders = 5;
  at(2).command({"FLUSHALL"});
  ASSERT_TRUE(eventually([&] {
    static_cast<void>(client_.mutex("look", kLong).try_acquire());
    return marker(2).starts_with("joining ");
  }));
  Section section;
  std::vector<std::jthread> threads;
  const BootTime begun = BootClock::now();
  for (int who = 0; who < kContenders; ++who) {
    threads.emplace_back([&, who] {
      Client client = open(masters_.url());
      for (int i = 0; i < 8; ++i) {
        Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(15s);
        EXPECT_EQ(told(lease), "granted");
        if (!lease) return;
        section.enter(who, lease->token());
        section.leave();
        EXPECT_EQ(told(lease->release()), "granted");
      }
    });
  }
  threads.clear();
  EXPECT_EQ(section.total(), kContenders * 8);
  EXPECT_LT(since(begun), 10s);
  EXPECT_EQ(at(2).command({"EXISTS", kFence}), "0") << "it voted though it is silent";
}

// Nobody has voted yet, and all want to begin.
TEST(RedlockFounding, ClientsThatBeginAtTheSameInstantAgree) {
  constexpr int kClients = 8;
  RedisMasters masters({.count = 3});
  Section section;
  std::barrier start(kClients);
  std::vector<std::jthread> threads;
  for (int who = 0; who < kClients; ++who) {
    threads.emplace_back([&, who] {
      Client client = open(masters.url() + "?node_timeout_ms=5000");
      start.arrive_and_wait();
      Result<Lease> lease = client.mutex("x", kLong).try_acquire_for(15s);
      EXPECT_EQ(told(lease), "granted");
      if (!lease) return;
      section.enter(who, lease->token());
      section.leave();
      EXPECT_EQ(told(lease->release()), "granted");
    });
  }
  threads.clear();
  EXPECT_EQ(section.total(), kClients);
  const std::string marker = masters.at(0).command({"GET", kMarker});
  EXPECT_THAT(marker, testing::MatchesRegex("[0-9.]+ 60000 3 1 [0-9]+ [0-9a-f]+"));
  EXPECT_EQ(epoch_of(masters.at(1).command({"GET", kMarker})), epoch_of(marker));
  EXPECT_EQ(epoch_of(masters.at(2).command({"GET", kMarker})), epoch_of(marker));
}

TEST_F(RedlockContention, DistinctNamesDoNotHinderEachOther) {
  constexpr int kThreads = 16;
  std::vector<std::jthread> threads;
  std::atomic<int> rounds = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::string name = "own" + std::to_string(t);
      Token last;
      for (int i = 0; i < 20; ++i) {
        Result<Lease> lease = (t % 2 == 0 ? client_ : other_).mutex(name, kLong).try_acquire();
        ASSERT_EQ(told(lease), "granted") << name;
        ASSERT_GT(lease->token(), last);
        last = lease->token();
        ASSERT_EQ(told(lease->renew()), "granted");
        ASSERT_EQ(told(lease->release()), "granted");
        ++rounds;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(rounds, kThreads * 20);
}

}  // namespace
}  // namespace holdfast::redlock_tests
