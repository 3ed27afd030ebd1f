// A client does not survive fork(): the child is told so, and cannot harm the parent's locks.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "contract.h"

namespace holdfast::contract {

HOLDFAST_CONTRACT(ForkTest);

namespace {

// Runs `work` in a forked child (no exec) and returns what it returned. "(died)" if it did not
// come back, "(hangs)" if it took too long. The parent does `meanwhile`.
std::string in_forked_child(const std::function<std::string()>& work,
                            const std::function<void()>& meanwhile = {}) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "(no pipe)";
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(20);  // A child that hangs is a finding, not a test that hangs.
    std::string said;
    try {
      said = work();
    } catch (const LockError& error) {
      said = std::string("threw ") + code_name(error.code());
    }
    static_cast<void>(!write(ends[1], said.data(), said.size()));
    _exit(0);
  }
  close(ends[1]);
  if (meanwhile) meanwhile();
  std::string said;
  std::array<char, 512> bytes{};
  for (ssize_t size; (size = read(ends[0], bytes.data(), bytes.size())) > 0;) {
    said.append(bytes.data(), static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "(hangs)" : "(died)";
  return said;
}

}  // namespace

TEST_P(ForkTest, EveryBlockingCallInAForkedChildSaysForked) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  Lease lease = client.mutex("held").acquire().value();
  const Handle handle(Hold{Claim{.name = "x", .ttl = 30s}, Token(1)});
  const std::vector<std::pair<const char*, std::function<std::string()>>> calls{
      {"acquire", [&] { return outcome_of(mutex.acquire()); }},
      {"try_acquire", [&] { return outcome_of(mutex.try_acquire()); }},
      {"try_acquire_for", [&] { return outcome_of(mutex.try_acquire_for(1ms)); }},
      {"acquire_detached", [&] { return outcome_of(mutex.acquire_detached({})); }},
      {"acquire_all", [&] { return outcome_of(client.acquire_all({"a", "b"})); }},
      {"list", [&] { return outcome_of(client.list()); }},
      {"inspect", [&] { return outcome_of(client.inspect("x")); }},
      {"evict", [&] { return outcome_of(client.evict("x", Token(1))); }},
      {"adopt", [&] { return outcome_of(client.adopt(handle)); }},
      {"renew", [&] { return outcome_of(client.renew(handle)); }},
      {"release", [&] { return outcome_of(client.release(handle)); }},
      {"lease.renew", [&] { return outcome_of(lease.renew()); }},
      {"lease.detach", [&] { return outcome_of(lease.detach()); }},
      {"lease.release", [&] { return outcome_of(lease.release()); }},
      {"lock", [&] { return thrown_by([&] { mutex.lock(); }); }},
  };
  for (const auto& [name, call] : calls) EXPECT_EQ(in_forked_child(call), "forked") << name;
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(outcome_of(lease.renew()), "granted");
}

// The parent releases and somebody else acquires: the child's copy of the lease hears of none of it.
TEST_P(ForkTest, NothingIsHeldInAForkedChild) {
  Client client = open();
  Client other = open();
  Lease lease = client.mutex("x").acquire().value();
  Mutex mutex = client.mutex("m");
  mutex.lock();
  RecursiveMutex recursive = client.recursive_mutex("r");
  recursive.lock();
  MultiLease several = client.acquire_all({"a", "b"}).value();
  std::array<int, 2> go{};
  ASSERT_EQ(pipe(go.data()), 0);
  std::optional<Lease> next;
  const auto in_child = [&]() -> std::string {
    char byte = 0;
    static_cast<void>(!read(go[0], &byte, 1));  // The parent has released by now.
    std::string held;
    if (lease.held()) held += " lease";
    if (mutex.held()) held += " mutex";
    if (recursive.held()) held += " recursive_mutex";
    if (several.held()) held += " multi_lease";
    return held.empty() ? "nothing" : held;
  };
  const auto in_parent = [&] {
    EXPECT_EQ(outcome_of(lease.release()), "granted");
    next = other.mutex("x").acquire().value();
    static_cast<void>(!write(go[1], "x", 1));
  };
  EXPECT_EQ(in_forked_child(in_child, in_parent), "nothing");
  EXPECT_TRUE(mutex.held());
  EXPECT_TRUE(recursive.held());
  EXPECT_TRUE(several.held());
  mutex.unlock();
  recursive.unlock();
  close(go[0]);
  close(go[1]);
}

// The forking thread holds them: without a check its copies would say "you hold it already".
TEST_P(ForkTest, LockingWhatTheParentHoldsSaysForked) {
  Client client = open();
  Mutex mutex = client.mutex("m");
  mutex.lock();
  RecursiveMutex recursive = client.recursive_mutex("r");
  recursive.lock();
  const auto in_child = [&](const std::function<void()>& call) {
    return in_forked_child([&] { return thrown_by(call); });
  };
  EXPECT_EQ(in_child([&] { mutex.lock(); }), "forked");
  EXPECT_EQ(in_child([&] { static_cast<void>(mutex.try_lock()); }), "forked");
  EXPECT_EQ(in_child([&] { recursive.lock(); }), "forked");
  EXPECT_EQ(in_child([&] { static_cast<void>(recursive.try_lock()); }), "forked");
  EXPECT_EQ(in_forked_child([&] {
              mutex.unlock();
              recursive.unlock();
              return "unlocked";
            }),
            "unlocked");
  EXPECT_TRUE(mutex.held());
  EXPECT_TRUE(recursive.held());
  mutex.unlock();
  recursive.unlock();
}

TEST_P(ForkTest, AnAsynchronousCallInAForkedChildSaysForkedAndSendsNothing) {
  Client client = open();
  Mutex mutex = client.mutex("x");
  ASSERT_TRUE(mutex.try_acquire());  // The engine is in use: its connection is there to be misused.
  const std::string said = in_forked_child([&]() -> std::string {
    // Nothing can call back in a forked child, so the call itself must say it, or the callback.
    auto heard = std::make_shared<std::promise<std::string>>();
    std::future<std::string> outcome = heard->get_future();
    try {
      mutex.async_acquire().then(
          [heard](Result<Lease> lease) { heard->set_value(outcome_of(lease)); });
    } catch (const LockError& error) {
      return code_name(error.code());
    }
    return outcome.wait_for(2s) == std::future_status::ready ? outcome.get() : "silence";
  });
  EXPECT_EQ(said, "forked");
  EXPECT_EQ(holders(client, "x"), 0U) << "the child took a lock in its parent's name";
}

TEST_P(ForkTest, TheExitOfAForkedChildDoesNotReleaseTheParentsLock) {
  Client client = open();
  Client other = open();
  Lease lease = client.mutex("x").acquire().value();
  EXPECT_EQ(in_forked_child([] { return "gone"; }), "gone");
  EXPECT_EQ(outcome_of(other.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(lease.renew()), "granted");
}

TEST_P(ForkTest, DestructorsInAForkedChildDoNotReleaseTheParentsLock) {
  auto client = std::make_unique<Client>(open());
  Client other = open();
  Lease lease = client->mutex("x").acquire().value();
  const std::string said = in_forked_child([&] {
    lease = Lease();
    client.reset();
    return "destroyed";
  });
  EXPECT_EQ(said, "destroyed");
  EXPECT_EQ(outcome_of(other.mutex("x").try_acquire()), "busy");
  EXPECT_EQ(outcome_of(lease.renew()), "granted");
  EXPECT_EQ(outcome_of(lease.release()), "granted");
}

TEST_P(ForkTest, AForkWhileTheClientIsBusyDoesNotHangTheChild) {
  Client client = open();
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      Mutex mutex = client.mutex("x");
      while (!over) EXPECT_EQ(outcome_of(mutex.acquire()), "granted");
    });
  }
  Mutex mutex = client.mutex("y");
  const Lease held = mutex.acquire().value();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(in_forked_child([&] { return outcome_of(mutex.try_acquire()); }),
                testing::EndsWith("forked"));
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
}

#if !defined(__SANITIZE_THREAD__)  // It does not allow new threads in a forked child.

TEST_P(ForkTest, AForkedChildCanOpenAClientOfItsOwn) {
  EXPECT_EQ(in_forked_child([&] { return outcome_of(open().mutex("x").try_acquire()); }),
            "granted");
  Client client = open();
  const Lease lease = client.mutex("x").acquire().value();
  const std::string said = in_forked_child([&] {
    const Result<Client> own = Client::open(url());
    return own ? "opened" : code_name(own.code());
  });
  EXPECT_EQ(said, engine().opens_after_fork ? "opened" : "forked");
  EXPECT_TRUE(lease.held());
}

// A process that forked a helper is killed; the helper lives on. The lock was the dead one's.
TEST_P(ForkTest, AForkedHelperDoesNotKeepTheLockOfItsDeadParent) {
  HOLDFAST_NEEDS(notices_death);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    alarm(60);
    Result<Client> own = Client::open(url());
    pid_t helper = 0;
    if (own) {
      const Result<Lease> lease = own->mutex("x", {.ttl = 1h}).acquire();
      helper = fork();
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
  Client client = open();
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire()), "busy");
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(outcome_of(client.mutex("x").try_acquire_for(5s)), "granted");
  kill(helper, SIGKILL);
  close(ends[0]);
}

#endif

}  // namespace holdfast::contract
