// The loss of one of several locks: told without callbacks that somebody would have to wait for, and in a
// forked child from the beginning.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>

#include "contract.h"
#include "played_engine.h"

namespace holdfast::core_tests {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code
using contract::eventually;
using contract::thrown_by;

constexpr LockOptions kShort{.ttl = 400ms, .auto_renew = false};

// "ok", or "hangs" if `work` took too long in a forked child, "no" if it returned false.
std::string in_child(const std::function<bool()>& work) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hangs" : "died";
  return WEXITSTATUS(status) == 0 ? "ok" : "no";
}

TEST(MultiLoss, IsToldBeforeTheFirstOfThemEnds) {
  Client client = open_played(std::make_shared<Script>());
  const MultiLease several = client.acquire_all({"a", "b", "c"}, kShort).value();
  const BootTime end = several.leases().front().valid_until();
  const std::stop_token lost = several.lost();
  std::atomic<int> told = 0;
  std::atomic<BootTime> told_at{BootTime()};
  const std::stop_callback callback(lost, [&] {
    told_at = BootClock::now();
    ++told;
  });
  ASSERT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_LT(told_at.load(), end);
  std::this_thread::sleep_until(several.leases().back().valid_until());
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(several.lost().stop_requested());
}

// The callback wants a mutex that the one who destroys has locked.
TEST(MultiLoss, DestroyingItWaitsForNoCallback) {
  Client client = open_played(std::make_shared<Script>());
  MultiLease several = client.acquire_all({"a", "b"}, kShort).value();
  std::mutex mutex;
  std::atomic<bool> told = false;
  const std::stop_callback callback(several.lost(), [&] {
    told = true;
    // Wants the mutex; not for ever: this test should fail, not hang.
    if (eventually([&] { return mutex.try_lock(); })) mutex.unlock();
  });
  const std::lock_guard lock(mutex);
  ASSERT_TRUE(eventually([&] { return told.load(); }));
  const BootTime begin = BootClock::now();
  several = MultiLease();
  EXPECT_LT(BootClock::now() - begin, 10s);
}

TEST(MultiLoss, AForkedChildDestroysItWhileACallbackRunsInTheParent) {
  Client client = open_played(std::make_shared<Script>());
  auto several = std::make_unique<MultiLease>(client.acquire_all({"a", "b"}, kShort).value());
  std::atomic<bool> told = false;
  std::atomic<bool> may_return = false;
  const std::stop_callback callback(several->lost(), [&] {
    told = true;
    while (!may_return) std::this_thread::sleep_for(1ms);
  });
  ASSERT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_EQ(in_child([&] {
              several.reset();
              return true;
            }),
            "ok");
  may_return = true;
}

TEST(MultiLoss, InAForkedChildNothingIsHeldAndLostSaysSo) {
  Client client = open_played(std::make_shared<Script>());
  const Lease one = client.mutex("x").acquire().value();
  MultiLease several = client.acquire_all({"a", "b"}).value();
  EXPECT_EQ(in_child([&] { return one.lost().stop_requested(); }), "ok") << "a lease";
  EXPECT_EQ(in_child([&] { return several.lost().stop_requested(); }), "ok") << "several";
  EXPECT_EQ(in_child([&] { return several.release().code() == Code::forked; }), "ok");
  EXPECT_FALSE(one.lost().stop_requested());
  EXPECT_FALSE(several.lost().stop_requested());
  EXPECT_TRUE(several.release());
}

TEST(MultiLoss, LeasesOfTwoClientsAreRefusedAndGivenBack) {
  const auto script = std::make_shared<Script>();
  Client client = open_played(script);
  Client other = open_played(script);
  std::vector<Lease> leases;
  leases.push_back(client.mutex("a").acquire().value());
  leases.push_back(other.mutex("b").acquire().value());
  EXPECT_EQ(thrown_by([&] { static_cast<void>(MultiLease{std::move(leases)}); }),
            "invalid_argument");
  EXPECT_EQ(script->releases, 2);
  leases.clear();
  leases.push_back(client.mutex("a").acquire().value());
  leases.emplace_back();
  EXPECT_EQ(thrown_by([&] { static_cast<void>(MultiLease{std::move(leases)}); }),
            "invalid_argument");
  EXPECT_EQ(script->releases, 3);
}

}  // namespace
}  // namespace holdfast::core_tests
