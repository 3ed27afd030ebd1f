// Faults of databases, for tests of MySQL and of PostgreSQL: clients that fall silent without the end of
// their connection being heard, rows that stay locked, restarts, and hostile settings and clocks.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <future>

#include "lock_testing.h"
#include "movable_clock.h"

namespace holdfast::lock_testing {

// ---- Locks that live in a session ---------------------------------------------------------------

// The server grants to the dead waiter first, and ends that session after its ttl. `waits()`: `dead`, whose
// connections go through `proxy`, waits in the server.
inline void expect_a_dead_waiter_delays_by_its_ttl(Client& holder, Client& dead, Client& other,
                                                   Proxy& proxy,
                                                   const std::function<bool()>& waits) {
  Lease lease = holder.mutex("dead waiter", kLong).acquire().value();
  std::stop_source stop;
  Pending waiting =
      in_thread([&] { return dead.mutex("dead waiter", {.ttl = 2s}).acquire(stop.get_token()); });
  ASSERT_TRUE(eventually(waits));
  proxy.cut();
  proxy.refuse(true);
  ASSERT_EQ(told(lease.release()), "granted");
  EXPECT_EQ(told(other.mutex("dead waiter", kLong).try_acquire_for(20s)), "granted")
      << "the dead one keeps it";
  stop.request_stop();
  ASSERT_TRUE(arrives(waiting));
  static_cast<void>(waiting.get());
}

// Its connection is dead without notice; new ones work.
inline void expect_a_waiter_on_a_dead_connection_gets_in(Client& holder, Client& waiter,
                                                         Proxy& proxy,
                                                         const std::function<bool()>& waits) {
  Lease lease = holder.mutex("dead link", kLong).acquire().value();
  Pending waiting =
      in_thread([&] { return waiter.mutex("dead link", {.ttl = 2s}).try_acquire_for(60s); });
  ASSERT_TRUE(eventually(waits));
  proxy.cut();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  EXPECT_EQ(told(waiting.get()), "granted");
}

// On a server with hostile settings. `newest_token()`: the one that the server has committed.
inline void expect_hostile_settings_do_not_matter(
    const std::string& url, const std::function<std::string()>& newest_token) {
  Client one = open(url);
  Client two = open(url);
  Result<Lease> first_lease = one.mutex("x", {.ttl = 4s}).try_acquire_for(10s);
  ASSERT_EQ(told(first_lease), "granted");
  Lease lease = std::move(first_lease).value();
  Pending waiting = in_thread([&] { return two.mutex("x", {.ttl = 4s}).try_acquire_for(30s); });
  ASSERT_TRUE(queue_reaches(one, "x", 1));
  pause_for(2500ms);
  EXPECT_TRUE(lease.held()) << "a limit of the server's ended it";
  EXPECT_FALSE(contract::is_ready(waiting)) << "a limit of the server's ended the wait";
  const Token first = lease.token();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(waiting));
  const Result<Lease> next = waiting.get();
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), first);
  EXPECT_EQ(newest_token(), next->token().str()) << "the token is not committed";
}

inline void expect_a_clock_jump_takes_no_lock_away(Client& one, Client& two,
                                                   test::MovableClock& clock) {
  Lease lease = one.mutex("x", LockOptions{.ttl = 2s}).acquire().value();
  for (const auto by : {std::chrono::hours(2), std::chrono::hours(-4)}) {
    clock.jump(by);
    EXPECT_EQ(outcome_of(two.mutex("x", kLong).try_acquire()), "busy");
    EXPECT_EQ(told(lease.renew()), "granted");
  }
  pause_for(1s);
  EXPECT_TRUE(lease.held());
  const Token before = lease.token();
  ASSERT_EQ(told(lease.release()), "granted");
  const Result<Lease> next = two.mutex("x", kLong).try_acquire_for(10s);
  ASSERT_EQ(told(next), "granted");
  EXPECT_GT(next->token(), before);
}

// A process that forked a helper is killed; the helper lives on. The lock was the dead one's.
inline void expect_a_forked_helper_keeps_no_lock(const std::string& url) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    alarm(60);
    Result<Client> own = Client::open(url);
    if (own) {
      const Result<Lease> lease = own->mutex("forked", {.ttl = 1h}).acquire();
      const pid_t helper = fork();
      if (helper == 0) {
        alarm(60);
        pause();
        _exit(0);
      }
      static_cast<void>(!write(ends[1], &helper, sizeof helper));
      pause();
    }
    _exit(0);
  }
  close(ends[1]);
  pid_t helper = 0;
  ASSERT_EQ(read(ends[0], &helper, sizeof helper), ssize_t{sizeof helper});
  Client client = open(url);
  EXPECT_EQ(outcome_of(client.mutex("forked").try_acquire()), "busy");
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(told(client.mutex("forked").try_acquire_for(10s)), "granted");
  kill(helper, SIGKILL);
  close(ends[0]);
}

// ---- Locks that are rows ------------------------------------------------------------------------

// `lock_row()` and `unlock_row()`: of the lock "frozen" of this client.
inline void expect_callers_of_a_locked_row_cost_no_other_lease(
    Client& client, const std::function<void()>& lock_row,
    const std::function<void()>& unlock_row) {
  Result<Lease> lease = client.mutex("other", {.ttl = 3s}).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  lock_row();
  std::vector<std::future<std::string>> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(std::async(std::launch::async, [&] {
      return told(client.mutex("frozen", kLong).try_acquire_for(20s));
    }));
  }
  const BootTime end = BootClock::now() + 4s;
  while (BootClock::now() < end && lease->held()) pause_for(50ms);
  EXPECT_TRUE(lease->held());
  const BootTime releasing = BootClock::now();
  EXPECT_EQ(told(lease->release()), "granted");
  EXPECT_LT(since(releasing), 3s);
  unlock_row();
  for (std::future<std::string>& each : callers) EXPECT_EQ(each.get(), "granted");
}

inline void expect_a_locked_row_delays_no_other_renewal(Client& client, Duration ttl,
                                                        const std::function<void()>& lock_row,
                                                        const std::function<void()>& unlock_row) {
  std::vector<Lease> leases;
  for (const char* name : {"a", "frozen", "b"}) {
    leases.push_back(client.mutex(name, {.ttl = ttl}).try_acquire().value());
  }
  lock_row();
  // Until "frozen" is lost, and another ttl.
  ASSERT_TRUE(eventually([&] { return !leases[1].held(); }));
  pause_for(ttl);
  EXPECT_TRUE(leases[0].held());
  EXPECT_TRUE(leases[2].held());
  unlock_row();
}

// Notifications are lost with the connection that they come on, without notice; others are quick.
inline void expect_a_deaf_waiter_of_a_busy_row_gets_in(const std::string& url, Client& deaf,
                                                       Proxy& proxy) {
  // It looks by itself less often than a grant lasts that nobody takes up.
  const LockOptions ttl{.ttl = 8s};
  Client others[2] = {open(url), open(url)};
  Lease first = others[0].mutex("x", ttl).acquire().value();
  Pending waiting = in_thread([&] { return deaf.mutex("x", ttl).try_acquire_for(12s); });
  ASSERT_TRUE(queue_reaches(others[0], "x", 1));
  proxy.cut();
  std::atomic<bool> done = false;
  std::vector<std::jthread> threads;
  for (Client& each : others) {
    threads.emplace_back([&] {
      while (!done) {
        const Result<Lease> lease = each.mutex("x", ttl).try_acquire_for(20s);
        pause_for(20ms);
      }
    });
  }
  EXPECT_EQ(told(first.release()), "granted");
  EXPECT_EQ(told(waiting.get()), "granted");
  done = true;
}

// `back_up()` copies the locks, `restore()` puts the copy in their place, and `set_back()` the token of "x"
// alone.
inline void expect_tokens_above_those_of_a_backup(const std::string& url,
                                                  const std::function<void()>& back_up,
                                                  const std::function<void()>& restore,
                                                  const std::function<void()>& set_back) {
  Client client = open(url);
  Client waiting = open(url);
  const auto shared = [&] { return client.shared_mutex("y", kLong).acquire_shared()->token(); };
  const auto exclusive = [&] { return client.mutex("x", kLong).acquire()->token(); };
  Token last = std::max(exclusive(), shared());
  back_up();
  for (int i = 0; i < 3; ++i) last = std::max({last, exclusive(), shared()});
  restore();
  EXPECT_GT(exclusive(), last);
  EXPECT_GT(shared(), last);
  // The same for a waiter that is handed the lock.
  Lease lease = client.mutex("x", kLong).acquire().value();
  Pending next = in_thread([&] { return waiting.mutex("x", kLong).try_acquire_for(20s); });
  ASSERT_TRUE(queue_reaches(client, "x", 1));
  last = std::max(last, lease.token());
  set_back();
  ASSERT_EQ(told(lease.release()), "granted");
  ASSERT_TRUE(arrives(next));
  const Result<Lease> won = next.get();
  ASSERT_EQ(told(won), "granted");
  EXPECT_GT(won->token(), last);
}

inline void expect_a_restart_keeps_everything(const std::string& url,
                                              const std::function<void()>& restart) {
  Client holder = open(url);
  Client waiting = open(url);
  Result<Lease> lease = holder.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  Pending pending = in_thread([&] { return waiting.mutex("x", kLong).try_acquire_for(60s); });
  ASSERT_TRUE(queue_reaches(holder, "x", 1));
  restart();
  ASSERT_TRUE(eventually([&] { return lease->renew().ok(); }));
  EXPECT_TRUE(lease->held());
  EXPECT_FALSE(contract::is_ready(pending));
  ASSERT_TRUE(queue_reaches(holder, "x", 1));
  const Token before = lease->token();
  ASSERT_EQ(told(lease->release()), "granted");
  ASSERT_TRUE(arrives(pending));
  Result<Lease> won = pending.get();
  ASSERT_EQ(told(won), "granted");
  EXPECT_GT(won->token(), before);
}

// After the jump the hold is over, as the server sees it: exclusion is not promised any more, but a fence
// must tell the two holders apart.
inline void expect_tokens_grow_over_a_jump_ahead(const std::string& url,
                                                 test::MovableClock& clock) {
  Client one = open(url);
  Client two = open(url);
  Result<Lease> lease = one.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(lease), "granted");
  clock.jump(1h);
  const Result<Lease> second = two.mutex("x", kLong).try_acquire();
  ASSERT_EQ(told(second), "granted");
  EXPECT_GT(second->token(), lease->token());
  EXPECT_EQ(outcome_of(lease->renew()), "not_held");
  EXPECT_FALSE(lease->held());
}

inline void expect_a_jump_back_strands_nothing(const std::string& url, test::MovableClock& clock) {
  Client one = open(url);
  Client two = open(url);
  const LockOptions brief{.ttl = 1s};
  ASSERT_TRUE(one.mutex("x", brief).acquire()->detach().ok());
  Result<Lease> reader = one.shared_mutex("y", brief).acquire_shared();
  ASSERT_EQ(told(reader), "granted");
  ASSERT_TRUE(reader->detach().ok());
  clock.jump(-1h);
  EXPECT_EQ(told(two.mutex("x", brief).try_acquire_for(20s)), "granted");
  EXPECT_EQ(told(two.mutex("y", brief).try_acquire_for(20s)), "granted");
}

// ---- A replica that takes over ------------------------------------------------------------------

// A hold in the table survives the switch; one in a session ends with it.
inline void expect_a_waiter_is_served_by_the_successor(const std::string& url, bool is_table,
                                                       const std::function<void()>& switch_over) {
  Client holder = open(url);
  Client waiter = open(url);
  Lease lease = holder.mutex("x", {.ttl = 4s}).acquire().value();
  const Token token = lease.token();
  Pending waiting = in_thread([&] { return waiter.mutex("x", {.ttl = 4s}).try_acquire_for(30s); });
  ASSERT_TRUE(queue_reaches(holder, "x", 1));
  switch_over();
  if (is_table) {
    pause_for(2s);
    EXPECT_TRUE(lease.held());
    EXPECT_FALSE(contract::is_ready(waiting));
    EXPECT_EQ(told(lease.release()), "granted");
  }
  ASSERT_TRUE(arrives(waiting));
  const Result<Lease> next = waiting.get();
  ASSERT_EQ(told(next), "granted");
  EXPECT_FALSE(lease.held()) << "two hold it";
  EXPECT_GT(next->token(), token);
}

}  // namespace holdfast::lock_testing
