// A batch of renewals whose holds come and go while it waits for one of them.
#include <signal.h>

#include "postgres_testing.h"

namespace holdfast::postgres_tests {
namespace {

// The backend that holds an advisory lock and is none of `others`.
pid_t backend_beside(const PostgresServer& server, const std::string& others) {
  return std::atoi(
      server
          .query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND pid NOT IN (" + others +
                 ") LIMIT 1")
          .c_str());
}

// Changes with each statement that the backend is sent.
std::string last_statement(const PostgresServer& server, pid_t backend) {
  return server.query("SELECT query_start FROM pg_stat_activity WHERE pid = " +
                      std::to_string(backend));
}

// Renewed by hand and given back while the batch waits for the hold before it: by then its session serves
// another claim, and nothing of the batch may be sent on it.
TEST(PostgresSessionBatch, LeavesASessionAloneThatServesAnotherClaimByNow) {
  const LockOptions options{.ttl = 12s};  // renewed after 4 s, and waited for for 2 s
  PostgresServer server;
  Client client = open(server.url() + "?recipe=advisory");
  Lease slow = client.mutex("slow", options).acquire().value();
  const pid_t stopped = backend_beside(server, "0");
  Lease quick = client.mutex("quick", options).acquire().value();
  const pid_t shared = backend_beside(server, std::to_string(stopped));
  ASSERT_GT(stopped, 0);
  ASSERT_GT(shared, 0);
  const std::string granted = last_statement(server, shared);
  ASSERT_EQ(kill(stopped, SIGSTOP), 0);
  ASSERT_TRUE(eventually([&] { return last_statement(server, shared) != granted; }));
  EXPECT_EQ(told(quick.renew()), "granted");
  EXPECT_EQ(told(quick.release()), "granted");
  Lease next = client.mutex("next", options).acquire().value();
  EXPECT_EQ(backend_beside(server, std::to_string(stopped)), shared);
  const BootTime begin = BootClock::now();
  const std::string before = last_statement(server, shared);
  kill(stopped, SIGCONT);
  pause_for(300ms);
  const std::string after = last_statement(server, shared);
  if (BootClock::now() - begin > 2s) GTEST_SKIP() << "too slow: its own renewal may have come";
  EXPECT_EQ(after, before);
  EXPECT_TRUE(next.held());
}

}  // namespace
}  // namespace holdfast::postgres_tests
