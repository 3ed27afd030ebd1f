// Job control: the command has the terminal, Ctrl-C reaches it, Ctrl-Z stops both, fg continues.
#include "cli_fixture.h"
#include "pty.h"

namespace holdfast::test {
namespace {

// A pseudo-terminal with an interactive shell on it.
class TerminalTest : public CliTest {
 protected:
  TerminalTest() {
    shell_.emplace(
        start_plain({"bash", "--norc", "--noprofile", "-i"},
                    {.environment = {{"PS1", "> "}, {"TERM", "dumb"}}, .terminal = pty_.name()}));
    type("unset HISTFILE; hf='" + std::string(HOLDFAST_BINARY) + " --on " + url() + "'\n");
  }

  void type(const std::string& text) { pty_.type(text); }
  bool sees(const std::string& text, std::chrono::seconds patience = std::chrono::seconds(30)) {
    return pty_.sees(text, patience);
  }

  Pty pty_;
  std::optional<Process> shell_;
};

// Typed text is echoed: the commands print sums, so that the echo is not taken for the answer.
TEST_F(TerminalTest, TheCommandCanReadFromTheTerminal) {
  type("$hf run x -- sh -c 'echo a$((1+1)); read line; echo got-$line'; echo status-$?\n");
  ASSERT_TRUE(sees("a2")) << pty_.screen();
  type("hello\n");
  EXPECT_TRUE(sees("got-hello")) << pty_.screen();
  EXPECT_TRUE(sees("status-0")) << pty_.screen();
}

TEST_F(TerminalTest, CtrlCEndsTheCommandAndGivesTheTerminalBack) {
  type("$hf run x -- sh -c 'echo a$((1+1)); sleep 300'; echo status-$?\n");
  ASSERT_TRUE(sees("a2")) << pty_.screen();
  // A shell that is interrupted just while it starts `sleep` goes on with that: people then press
  // again.
  bool back = false;
  for (int presses = 0; presses < 4 && !back; ++presses) {
    type("\x03");
    // bash drops the rest of the line when a command ends by SIGINT's status; ask again.
    type("echo again-$((2+3))\n");
    back = sees("again-5", std::chrono::seconds(8));
  }
  EXPECT_TRUE(back) << pty_.screen();
  type("$hf run x --no-wait -- sh -c 'echo free-$((1+2))'\n");
  EXPECT_TRUE(sees("free-3")) << pty_.screen();
}

TEST_F(TerminalTest, CtrlZStopsBothAndFgContinuesThem) {
  type("$hf run x -- sh -c 'echo a$((1+1)); read line; echo got-$line'; echo status-$?\n");
  ASSERT_TRUE(sees("a2")) << pty_.screen();
  type("\x1a");
  ASSERT_TRUE(sees("Stopped")) << pty_.screen();
  type("fg\n");
  ASSERT_TRUE(sees("run x")) << pty_.screen();
  type("hello\n");
  EXPECT_TRUE(sees("got-hello")) << pty_.screen();
}

TEST_F(TerminalTest, APipelineKeepsTheTerminalForItsNeighbours) {
  type("$hf run x -- sh -c 'echo a$((1+1))' | { cat; read line </dev/tty; echo got-$line; }\n");
  ASSERT_TRUE(sees("a2")) << pty_.screen();
  type("hello\n");
  EXPECT_TRUE(sees("got-hello")) << pty_.screen();
}

TEST_F(TerminalTest, ACommandInAPipelineGetsTheTerminalWhenItAsksForIt) {
  type("true | $hf run x -- sh -c 'echo a$((1+1)); read line </dev/tty; echo got-$line'\n");
  ASSERT_TRUE(sees("a2")) << pty_.screen();
  type("hello\n");
  EXPECT_TRUE(sees("got-hello")) << pty_.screen();
}

TEST_F(TerminalTest, AStoppedJobLosesItsLockAndFgReturns76) {
  type("$hf run x --ttl 1s -- sh -c 'echo a$((1+1)); read line'\n");
  ASSERT_TRUE(sees("a2")) << pty_.screen();
  type("\x1a");
  ASSERT_TRUE(sees("Stopped")) << pty_.screen();
  EXPECT_EQ(run({"run", "x", "--wait", "20s", "--", "true"}).status, 0);
  type("fg; echo status-$?\n");
  EXPECT_TRUE(sees("status-76")) << pty_.screen();
}

TEST_F(TerminalTest, BenchShowsItsProgress) {
  type("$hf bench --seconds 2\n");
  EXPECT_TRUE(sees("pairs/s")) << pty_.screen();
  EXPECT_TRUE(sees("changes of owner")) << pty_.screen();
}

}  // namespace
}  // namespace holdfast::test
