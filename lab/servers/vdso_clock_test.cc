#include "vdso_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>

#include "etcd_server.h"
#include "server_process.h"
#include "temp_dir.h"
#include "waiting.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Times {
  std::atomic<std::int64_t> wall_s;
  std::atomic<std::int64_t> monotonic_s;
};

std::int64_t seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec;
}

// A process that reads its clocks again and again.
class VdsoClockTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!VdsoClock::works_here()) GTEST_SKIP() << "not on this kind of processor";
    void* const memory =
        mmap(nullptr, sizeof(Times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    times_ = static_cast<Times*>(memory);
    reader_ = fork();
    if (reader_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
      times_->wall_s = seconds_of(CLOCK_REALTIME);
      times_->monotonic_s = seconds_of(CLOCK_MONOTONIC);
      usleep(1000);
    }
  }
  void TearDown() override { end(); }

  void end() {
    if (reader_ <= 0) return;
    kill(reader_, SIGKILL);
    waitpid(reader_, nullptr, 0);
    reader_ = -1;
  }
  bool is_ahead_by(std::chrono::seconds by) const {
    const std::int64_t off = times_->wall_s - seconds_of(CLOCK_REALTIME) - by.count();
    return off > -60 && off < 60;
  }

  Times* times_ = nullptr;
  pid_t reader_ = -1;
};

TEST_F(VdsoClockTest, MovesTheWallClockOfAProcessThatRunsAndNoOther) {
  wait_for("the process to read", [&] { return is_ahead_by(0s); });
  VdsoClock clock(reader_);
  EXPECT_TRUE(is_ahead_by(0s));
  for (const std::chrono::seconds by : {3600s, -7200s, 1'000'000'000s, 0s}) {
    clock.set_ahead(by);
    wait_for("the jump", [&] { return is_ahead_by(by); });
    EXPECT_NEAR(static_cast<double>(times_->monotonic_s),
                static_cast<double>(seconds_of(CLOCK_MONOTONIC)), 60);
  }
}

TEST_F(VdsoClockTest, SaysWhyItCannot) {
  const pid_t gone = reader_;
  end();
  try {
    VdsoClock clock(gone);
    FAIL() << "the process has ended";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot be moved: "));
  }
}

// Its answer to this over HTTP has the date by its clock.
std::string date_of(const EtcdServer& etcd) {
  const TempDir folder;
  ServerProcess ask({find_program("bash", "bash"), "-c",
                     "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(etcd.port()) +
                         R"( && printf 'GET /version HTTP/1.0\r\n\r\n' >&3 && cat <&3)"},
                    folder.path() / "log");
  ask.wait();
  return ask.log();
}

TEST_F(VdsoClockTest, EtcdFollowsItAndItsLeasesDoNot) {
  EtcdServer etcd;
  const std::string said = etcd.ctl({"lease", "grant", "600"});  // "lease ID granted with …"
  const std::string lease = said.substr(6, said.find(' ', 6) - 6);
  EXPECT_THAT(date_of(etcd), testing::Not(HasSubstr(" 2150 ")));
  etcd.jump_clock(0, 5'694'624'000s - std::chrono::seconds(std::time(nullptr)));
  EXPECT_THAT(date_of(etcd), HasSubstr(" 2150 "));
  EXPECT_THAT(etcd.ctl({"lease", "timetolive", lease}), HasSubstr("remaining("));
  etcd.restart();
  EXPECT_THAT(date_of(etcd), HasSubstr(" 2150 "));
}

}  // namespace
}  // namespace holdfast::test
