// Objects used after they were moved from say so; they do not crash.
#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(MisuseTest);

namespace {

// The result of `call` in a process of its own, so that a crash is a failed expectation.
#define EXPECT_SAYS_CLOSED(call)                    \
  EXPECT_EXIT(                                      \
      {                                             \
        std::string said;                           \
        try {                                       \
          said = (call);                            \
        } catch (const LockError& error) {          \
          said = code_name(error.code());           \
        }                                           \
        std::fprintf(stderr, "%s\n", said.c_str()); \
        std::_Exit(said == "closed" ? 0 : 1);       \
      },                                            \
      testing::ExitedWithCode(0), "closed")

}  // namespace

TEST_P(MisuseTest, AClientThatWasMovedFromSaysClosed) {
  Client client = open();
  const Client moved = std::move(client);
  const Handle handle(Hold{Claim{.name = "x", .ttl = 30s}, Token(1)});
  // NOLINTBEGIN(bugprone-use-after-move): the point
  EXPECT_SAYS_CLOSED((client.mutex("x"), "made"));
  EXPECT_SAYS_CLOSED((client.shared_mutex("x"), "made"));
  EXPECT_SAYS_CLOSED((client.semaphore("x", 2), "made"));
  EXPECT_SAYS_CLOSED((client.recursive_mutex("x"), "made"));
  EXPECT_SAYS_CLOSED((client.multi_lock({"x"}), "made"));
  EXPECT_SAYS_CLOSED((client.election("x"), "made"));
  EXPECT_SAYS_CLOSED(outcome_of(client.acquire_all({"x"})));
  EXPECT_SAYS_CLOSED(outcome_of(client.list()));
  EXPECT_SAYS_CLOSED(outcome_of(client.inspect("x")));
  EXPECT_SAYS_CLOSED(outcome_of(client.evict("x", Token(1))));
  EXPECT_SAYS_CLOSED(outcome_of(client.adopt(handle)));
  EXPECT_SAYS_CLOSED(outcome_of(client.renew(handle)));
  EXPECT_SAYS_CLOSED(outcome_of(client.release(handle)));
  // NOLINTEND(bugprone-use-after-move)
}

TEST_P(MisuseTest, AMutexThatWasMovedFromSaysClosed) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  const Mutex moved = std::move(mutex);
  // NOLINTBEGIN(bugprone-use-after-move): the point
  EXPECT_SAYS_CLOSED(outcome_of(mutex.acquire()));
  EXPECT_SAYS_CLOSED(outcome_of(mutex.try_acquire()));
  EXPECT_SAYS_CLOSED(outcome_of(mutex.try_acquire_for(1ms)));
  EXPECT_SAYS_CLOSED(outcome_of(mutex.acquire_detached({})));
  EXPECT_SAYS_CLOSED((mutex.lock(), "locked"));
  EXPECT_SAYS_CLOSED((mutex.try_lock() ? "locked" : "busy"));
  // NOLINTEND(bugprone-use-after-move)
}

TEST_P(MisuseTest, AMutexOutlivesItsClient) {
  std::optional<Mutex> mutex;
  {
    Client client = open();
    mutex.emplace(client.mutex("x"));
  }
  EXPECT_EQ(outcome_of(mutex->acquire()), "granted");
}

TEST_P(MisuseTest, AMutexDestroyedWhileLockedReleases) {
  Client client = open();
  {
    Mutex mutex = client.mutex("x");
    mutex.lock();
  }
  expect_nothing_left(client, "x");
}

}  // namespace holdfast::contract
