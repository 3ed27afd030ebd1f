// Coroutines in the loop of one client that use the locks of another: neither loop waits for the other.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract.h"
#include "played_engine.h"

namespace holdfast::core_tests {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

constexpr int kRounds = 2'000;

// In a process of its own: threads that wait for each other's mutexes cannot be ended otherwise.
std::string in_process(const std::function<void()>& work) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hangs" : "died";
  return "ok";
}

enum class Ending { by_call, by_destructor };

Task<void> use(Client& other, Ending ending) {
  for (int i = 0; i < kRounds; ++i) {
    Result<Lease> lease = co_await other.mutex("x").async_acquire();
    if (lease && ending == Ending::by_call) static_cast<void>(co_await lease->async_release());
  }
}

// Each runs in its own loop, and awaits the other's.
void use_each_other(Ending ending) {
  Client one = open_played(std::make_shared<Script>());
  Client two = open_played(std::make_shared<Script>());
  std::thread first([&] { one.run(use(two, ending)); });
  std::thread second([&] { two.run(use(one, ending)); });
  first.join();
  second.join();
}

TEST(TwoClients, AwaitEachOthersLocks) {
  EXPECT_EQ(in_process([] { use_each_other(Ending::by_call); }), "ok");
}

TEST(TwoClients, DestroyEachOthersLeasesInsideTheirLoops) {
  EXPECT_EQ(in_process([] { use_each_other(Ending::by_destructor); }), "ok");
}

Task<void> drop(std::optional<Lease>& lease, std::optional<MultiLease>& several,
                std::optional<Client>& client) {
  lease.reset();
  several.reset();
  client.reset();
  co_return;
}

TEST(TwoClients, WhatIsDestroyedInsideTheOthersLoopIsGivenBack) {
  const auto script = std::make_shared<Script>();
  Client one = open_played(std::make_shared<Script>());
  std::optional<Client> two = open_played(script);
  std::optional<Lease> lease = two->mutex("x").acquire().value();
  std::optional<MultiLease> several = two->acquire_all({"a", "b"}).value();
  one.run(drop(lease, several, two));
  EXPECT_TRUE(contract::eventually([&] { return script->releases == 3; }));
}

}  // namespace
}  // namespace holdfast::core_tests
