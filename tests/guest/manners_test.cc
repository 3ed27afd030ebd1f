// Signals, umask, locale and descriptors are the host's: taking a lock changes none of them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "holdfast/holdfast.h"
#include "redis_server.h"
#include "temp_dir.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): test code

// The host's own state, as text that can be compared.
std::map<std::string, std::string> possessions() {
  std::map<std::string, std::string> all;
  const auto bytes_of = [](const auto& value) {
    std::string text;
    for (std::size_t i = 0; i < sizeof value; ++i) {
      text += std::to_string(reinterpret_cast<const unsigned char*>(&value)[i]) + " ";
    }
    return text;
  };
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    if (sigaction(number, nullptr, &action) != 0) continue;
    all["action of signal " + std::to_string(number)] =
        bytes_of(action.sa_handler) + std::to_string(action.sa_flags);
  }
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::string blocked;
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&mask, number) == 1) blocked += std::to_string(number) + " ";
  }
  all["blocked signals"] = blocked;
  const mode_t creation = umask(0);
  umask(creation);
  all["umask"] = std::to_string(creation);
  all["locale"] = std::setlocale(LC_ALL, nullptr);
  return all;
}

// Descriptors that a program which the host starts would inherit.
std::map<int, std::string> inherited() {
  std::map<int, std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(entry.path().filename());
    const int flags = fcntl(number, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0) continue;
    std::error_code gone;
    all[number] = std::filesystem::read_symlink(entry.path(), gone).string();
  }
  return all;
}

void expect_good_manners(const std::string& url, const std::function<void()>& break_connections) {
  // Not what a host has by default, so that a reset to the default shows.
  signal(SIGPIPE, SIG_DFL);
  signal(SIGUSR1, SIG_IGN);
  const mode_t before = umask(027);
  const auto owned = possessions();
  const auto inherited_before = inherited();
  {
    Client client = Client::open(url, {.request_timeout = 5s}).value();
    Client other = Client::open(url, {.request_timeout = 5s}).value();
    Lease lease = client.mutex("x").acquire().value();
    EXPECT_FALSE(other.mutex("x").try_acquire_for(10ms));
    EXPECT_TRUE(lease.renew());
    EXPECT_EQ(possessions(), owned) << "while a lock is held";
    EXPECT_EQ(inherited(), inherited_before) << "not closed on exec";
    EXPECT_TRUE(lease.release());
    if (break_connections) {
      break_connections();
      // Writes into what the server has closed. Were it to raise SIGPIPE, this process would be gone.
      for (int i = 0; i < 3; ++i) static_cast<void>(client.mutex("x").try_acquire());
    }
  }
  EXPECT_EQ(possessions(), owned) << "afterwards";
  EXPECT_EQ(inherited(), inherited_before);
  umask(before);
  signal(SIGUSR1, SIG_DFL);
}

TEST(Manners, OnSqlite) {
  const TempDir directory;
  expect_good_manners("sqlite://" + (directory.path() / "locks.db").string(), nullptr);
}

TEST(Manners, OnRedis) {
  RedisServer server;
  expect_good_manners(server.url(), [&] { server.restart(); });
}

TEST(Manners, OnRedisOverTls) {
  RedisServer server(RedisOptions{.tls = true});
  expect_good_manners(server.url(), [&] { server.restart(); });
}

}  // namespace
}  // namespace holdfast::test
