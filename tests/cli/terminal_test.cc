// Job control: the command has the terminal, Ctrl-C reaches it, Ctrl-Z stops both, fg continues.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_fixture.h"

namespace holdfast::test {
namespace {

// A pseudo-terminal with an interactive shell on it.
class TerminalTest : public CliTest {
 protected:
  TerminalTest() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    grantpt(master_);
    unlockpt(master_);
    shell_.emplace(start_plain(
        {"bash", "--norc", "--noprofile", "-i"},
        {.environment = {{"PS1", "> "}, {"TERM", "dumb"}}, .terminal = ptsname(master_)}));
    type("unset HISTFILE; hf='" + std::string(HOLDFAST_BINARY) + " --on " + url() + "'\n");
  }
  ~TerminalTest() override {
    shell_.reset();
    close(master_);
  }

  void type(const std::string& text) {
    ASSERT_EQ(write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Waits until it was printed after what earlier calls saw.
  bool sees(const std::string& text, std::chrono::seconds patience = std::chrono::seconds(30)) {
    const auto shown = [&] {
      pollfd ready{master_, POLLIN, 0};
      char buffer[4096];
      while (poll(&ready, 1, 0) > 0) {
        const ssize_t got = read(master_, buffer, sizeof buffer);
        if (got <= 0) break;
        screen_.append(buffer, static_cast<std::size_t>(got));
      }
      const std::size_t found = screen_.find(text, seen_);
      if (found == std::string::npos) return false;
      seen_ = found + text.size();
      return true;
    };
    return eventually(shown, patience);
  }

  int master_;
  std::string screen_;
  std::size_t seen_ = 0;
  std::optional<Process> shell_;
};

// What is typed is echoed: the commands print sums, so that the echo is not taken for the answer.
TEST_F(TerminalTest, TheCommandCanReadFromTheTerminal) {
  type("$hf run x -- sh -c 'echo a$((1+1)); read line; echo got-$line'; echo status-$?\n");
  ASSERT_TRUE(sees("a2")) << screen_;
  type("hello\n");
  EXPECT_TRUE(sees("got-hello")) << screen_;
  EXPECT_TRUE(sees("status-0")) << screen_;
}

TEST_F(TerminalTest, CtrlCEndsTheCommandAndGivesTheTerminalBack) {
  type("$hf run x -- sh -c 'echo a$((1+1)); sleep 300'; echo status-$?\n");
  ASSERT_TRUE(sees("a2")) << screen_;
  // A shell that is interrupted just while it starts `sleep` goes on with that: people then press
  // again.
  bool back = false;
  for (int presses = 0; presses < 4 && !back; ++presses) {
    type("\x03");
    // bash drops the rest of the line when a command ends by SIGINT's status; ask again.
    type("echo again-$((2+3))\n");
    back = sees("again-5", std::chrono::seconds(8));
  }
  EXPECT_TRUE(back) << screen_;
  type("$hf run x --no-wait -- sh -c 'echo free-$((1+2))'\n");
  EXPECT_TRUE(sees("free-3")) << screen_;
}

TEST_F(TerminalTest, CtrlZStopsBothAndFgContinuesThem) {
  type("$hf run x -- sh -c 'echo a$((1+1)); read line; echo got-$line'; echo status-$?\n");
  ASSERT_TRUE(sees("a2")) << screen_;
  type("\x1a");
  ASSERT_TRUE(sees("Stopped")) << screen_;
  type("fg\n");
  ASSERT_TRUE(sees("run x")) << screen_;
  type("hello\n");
  EXPECT_TRUE(sees("got-hello")) << screen_;
}

TEST_F(TerminalTest, APipelineKeepsTheTerminalForItsNeighbours) {
  type("$hf run x -- sh -c 'echo a$((1+1))' | { cat; read line </dev/tty; echo got-$line; }\n");
  ASSERT_TRUE(sees("a2")) << screen_;
  type("hello\n");
  EXPECT_TRUE(sees("got-hello")) << screen_;
}

TEST_F(TerminalTest, ACommandInAPipelineGetsTheTerminalWhenItAsksForIt) {
  type("true | $hf run x -- sh -c 'echo a$((1+1)); read line </dev/tty; echo got-$line'\n");
  ASSERT_TRUE(sees("a2")) << screen_;
  type("hello\n");
  EXPECT_TRUE(sees("got-hello")) << screen_;
}

TEST_F(TerminalTest, AStoppedJobLosesItsLockAndFgReturns76) {
  type("$hf run x --ttl 1s -- sh -c 'echo a$((1+1)); read line'\n");
  ASSERT_TRUE(sees("a2")) << screen_;
  type("\x1a");
  ASSERT_TRUE(sees("Stopped")) << screen_;
  EXPECT_EQ(run({"run", "x", "--wait", "20s", "--", "true"}).status, 0);
  type("fg; echo status-$?\n");
  EXPECT_TRUE(sees("status-76")) << screen_;
}

TEST_F(TerminalTest, BenchShowsItsProgress) {
  type("$hf bench --seconds 2\n");
  EXPECT_TRUE(sees("pairs/s")) << screen_;
  EXPECT_TRUE(sees("changes of owner")) << screen_;
}

}  // namespace
}  // namespace holdfast::test
