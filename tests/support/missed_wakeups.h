// Every wait has a net: whatever notification is lost, the waiter looks for itself, after half of its ttl
// and at most 15 s (plus a fifth, which is the jitter).
#pragma once

#include "deaf_proxy.h"
#include "lock_testing.h"

namespace holdfast::lock_testing {

enum class Kind { exclusive, shared, permit };

inline std::string name_of_kind(const testing::TestParamInfo<Kind>& kind) {
  switch (kind.param) {
    case Kind::exclusive: return "Exclusive";
    case Kind::shared: return "Shared";
    case Kind::permit: return "Permit";
  }
  return "";
}

// Runs a suite (TestWithParam<Kind>) with each kind of claim.
#define HOLDFAST_WITH_EACH_KIND(Suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values(Kind::exclusive, Kind::shared, Kind::permit), \
                           name_of_kind)

inline Result<Lease> take(Client& client, Kind kind, const LockOptions& options,
                          Duration patience) {
  switch (kind) {
    case Kind::exclusive: return client.mutex("x", options).try_acquire_for(patience);
    case Kind::shared: return client.shared_mutex("x", options).try_acquire_shared_for(patience);
    case Kind::permit: return client.semaphore("x", 1, options).try_acquire_for(patience);
  }
  return Failure(Code::invalid_argument, "");
}

// given  `client` waits behind `other`
// when   `lose` spoils its connection, and then `other` releases
// then   the waiter finds that out by itself
inline void expect_a_waiter_finds_out(Client& client, Client& other, Kind kind, Duration ttl,
                                      const std::function<void()>& lose) {
  const Kind first = kind == Kind::permit ? Kind::permit : Kind::exclusive;
  Lease lease = take(other, first, kLong, 0s).value();
  Pending waiting = in_thread([&] { return take(client, kind, {.ttl = ttl}, 60s); });
  ASSERT_TRUE(eventually([&] { return waiters(other, "x") == 1; }));
  lose();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting)) << "stranded";
  EXPECT_EQ(told(waiting.get()), "granted");
}

// The same; the waiter's connection answers calls and swallows watch events.
inline void expect_a_deaf_waiter_finds_out(Client& client, Client& other, Kind kind,
                                           test::DeafProxy& proxy) {
  expect_a_waiter_finds_out(client, other, kind, 4s, [&] {
    pause_for(300ms);  // Its watches are up, and it knows.
    proxy.deafen(true);
  });
  EXPECT_GT(proxy.swallowed(), 0) << "nothing was lost: this test proves nothing";
}

}  // namespace holdfast::lock_testing
