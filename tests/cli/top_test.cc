// holdfast top, on a terminal and without one, on real engines.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <termios.h>

#include "cli_fixture.h"
#include "hostile.h"
#include "pty.h"
#include "redis_server.h"
#include "screen.h"

namespace holdfast::test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

termios modes_of(const Pty& pty) {
  termios modes{};
  tcgetattr(pty.descriptor(), &modes);
  return modes;
}

bool same(const termios& one, const termios& other) {
  return one.c_lflag == other.c_lflag && one.c_iflag == other.c_iflag &&
         one.c_oflag == other.c_oflag;
}

// Listens, and says nothing.
class SilentServer {
 public:
  SilentServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    listen(socket_, 16);
    socklen_t size = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { close(socket_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  int socket_;
  unsigned port_ = 0;
};

class TopTest : public CliTest {
 protected:
  void start_top(const Words& places, const Words& options = {},
                 std::map<std::string, std::string> environment = {}) {
    Words words = {HOLDFAST_BINARY, "top", "--interval", "100ms"};
    for (const std::string& place : places) words.insert(words.end(), {"--on", place});
    words.insert(words.end(), options.begin(), options.end());
    environment.insert({{"TERM", "xterm-256color"}, {"LC_ALL", "C.UTF-8"}, {"NO_COLOR", ""}});
    top_.emplace(start_plain(words, {.environment = environment, .terminal = pty_.name()}));
    ASSERT_TRUE(comes([&] { return screen_.is_alternate(); })) << screen_.text();
  }

  // True as soon as it is so on the screen.
  bool comes(const std::function<bool()>& condition) {
    return eventually([&] {
      pty_.take();
      screen_.write(std::string_view(pty_.screen()).substr(seen_));
      seen_ = pty_.screen().size();
      return condition();
    });
  }
  bool shows(const std::string& part) {
    return comes([&] { return has(screen_.text(), part); });
  }
  bool hides(const std::string& part) {
    return comes([&] { return !has(screen_.text(), part); });
  }
  // The row of this lock; empty if there is none.
  std::string row_of(const std::string& name) const {
    for (std::size_t i = 0; i < screen_.rows(); ++i) {
      if (has(screen_.row(i), name)) return screen_.row(i);
    }
    return {};
  }
  bool is_above(const std::string& name, const std::string& other) const {
    const std::string text = screen_.text();
    const std::size_t at = text.find(name);
    return at != std::string::npos && text.find(other) != std::string::npos &&
           at < text.find(other);
  }
  void resize(unsigned short columns, unsigned short rows) {
    screen_.resize(columns, rows);
    pty_.resize(columns, rows);
  }

  static std::string hold(const std::string& url, const std::string& name, const Words& more = {}) {
    Words words = {"acquire", "--on", url};
    if (std::ranges::count(more, "--ttl") == 0) words.insert(words.end(), {"--ttl", "10m"});
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", name});
    const Output output = run_bare(words);
    EXPECT_EQ(output.status, 0) << output.err;
    return output.out.substr(0, output.out.find('\n'));
  }
  static Process wait_for(const std::string& url, const std::string& name,
                          const std::string& owner = "waiter") {
    return start_plain(
        {HOLDFAST_BINARY, "--on", url, "run", name, "--quiet", "--owner", owner, "--", "true"});
  }
  std::string token_of(const std::string& name) const {
    return json({"show", name})["holders"][0]["token"].dump();
  }

  Pty pty_{100, 24};
  Screen screen_{100, 24};
  std::size_t seen_ = 0;
  std::optional<Process> top_;
};

TEST_F(TopTest, ALockComesWithItsWaitersAndGoes) {
  start_top({url()});
  ASSERT_TRUE(shows("nobody holds a lock or waits for one")) << screen_.text();
  const std::string handle = hold(url(), "nightly", {"--label", "alice"});
  ASSERT_TRUE(shows("nightly")) << screen_.text();
  EXPECT_TRUE(has(row_of("nightly"), "alice")) << screen_.text();
  EXPECT_TRUE(has(row_of("nightly"), "█")) << screen_.text();
  const Process one = wait_for(url(), "nightly");
  const Process other = wait_for(url(), "nightly");
  EXPECT_TRUE(shows("1 lock, 2 waiting")) << screen_.text();
  EXPECT_TRUE(has(row_of("nightly"), " 2 ")) << screen_.text();
  run({"release", handle});
  EXPECT_TRUE(shows("0 locks, 0 waiting")) << screen_.text();
  EXPECT_FALSE(screen_.is_confused());
}

TEST_F(TopTest, SortsFiltersAndOpensOneOfSeveralEngines) {
  RedisServer redis;
  hold(url(), "alpha");
  hold(redis.url(), "beta", {"--label", "carol"});
  hold(redis.url(), "gamma");
  const Process waiter = wait_for(redis.url(), "gamma", "job-3");
  start_top({url(), "shop=" + redis.url()}, {"--sort", "name"});
  ASSERT_TRUE(shows("3 locks, 1 waiting")) << screen_.text();
  EXPECT_TRUE(is_above("alpha", "beta") && is_above("beta", "gamma")) << screen_.text();
  EXPECT_TRUE(row_of("beta").starts_with("shop")) << screen_.text();
  pty_.type("w");
  EXPECT_TRUE(comes([&] { return is_above("gamma", "alpha"); })) << screen_.text();
  pty_.type("/carol\r");
  EXPECT_TRUE(shows("1 of 3 locks")) << screen_.text();
  EXPECT_TRUE(has(row_of("beta"), "carol")) << screen_.text();
  pty_.type("\x1b");
  EXPECT_TRUE(shows("gamma")) << screen_.text();
  pty_.type("e");
  EXPECT_TRUE(shows("only sqlite")) << screen_.text();
  EXPECT_TRUE(hides("gamma")) << screen_.text();
  pty_.type("ee");
  ASSERT_TRUE(shows("gamma")) << screen_.text();
  // An arrow and Enter in one piece, as a fast typist or a slow line sends them.
  pty_.type("\x1b[B\x1b[A\r");
  EXPECT_TRUE(shows("WAITERS, the next one first")) << screen_.text();
  EXPECT_TRUE(shows("owner job-3")) << screen_.text();
}

TEST_F(TopTest, OneLockTellsWhatHappensToIt) {
  const std::string first = hold(url(), "nightly", {"--label", "alice"});
  start_top({url()});
  ASSERT_TRUE(shows("nightly")) << screen_.text();
  pty_.type("\r");
  ASSERT_TRUE(shows("nothing yet")) << screen_.text();
  run({"release", first});
  EXPECT_TRUE(shows("released by alice, token ")) << screen_.text();
  EXPECT_TRUE(shows("free")) << screen_.text();
  hold(url(), "nightly", {"--label", "bob", "--ttl", "10s"});
  EXPECT_TRUE(shows("granted to bob, token ")) << screen_.text();
  EXPECT_TRUE(shows("EXPIRED: lost by bob, token ")) << screen_.text();
}

TEST_F(TopTest, ADeadlockAcrossEnginesIsARedLineUntilItIsOver) {
  RedisServer redis;
  const std::string stock = hold(url(), "stock", {"--owner", "job-7"});
  hold(redis.url(), "ledger", {"--owner", "job-9"});
  const Process one = wait_for(redis.url(), "ledger", "job-7");
  start_top({url(), redis.url()});
  ASSERT_TRUE(shows("1 waiting")) << screen_.text();
  EXPECT_FALSE(has(screen_.text(), "DEADLOCK")) << "a wait is no circle";
  const Process other = wait_for(url(), "stock", "job-9");
  EXPECT_TRUE(shows("DEADLOCK: job-7 > job-9 > job-7 (ledger on redis, stock on sqlite)"))
      << screen_.text();
  EXPECT_TRUE(has(pty_.screen(), ";31mDEADLOCK")) << "it is red";
  // On the smallest screen, too.
  resize(30, 4);
  EXPECT_TRUE(shows("DEADLOCK: job-7 > job-9")) << screen_.text();
  resize(100, 24);
  run({"release", stock});
  EXPECT_TRUE(hides("DEADLOCK")) << screen_.text();
}

TEST_F(TopTest, AnEngineThatIsDownIsALineAndTheOthersGoOn) {
  RedisServer redis;
  hold(redis.url(), "kept");
  start_top({url(), redis.url()});
  ASSERT_TRUE(shows("kept")) << screen_.text();
  redis.kill();
  EXPECT_TRUE(shows("\nredis: ")) << screen_.text();
  EXPECT_TRUE(has(screen_.text(), "last seen")) << screen_.text();
  hold(url(), "newcomer");
  EXPECT_TRUE(shows("newcomer")) << screen_.text();
  EXPECT_TRUE(has(screen_.text(), "kept")) << "as it was last seen";
  redis.restart();
  EXPECT_TRUE(hides("\nredis: ")) << screen_.text();
}

TEST_F(TopTest, AnEngineThatHangsFreezesNeitherKeysNorTheOthersNorTheEnd) {
  const SilentServer silent;
  start_top({url(), "mute=" + silent.url()});
  hold(url(), "newcomer");
  ASSERT_TRUE(shows("newcomer")) << screen_.text();
  EXPECT_TRUE(shows("mute: ")) << screen_.text();
  pty_.type("?");
  EXPECT_TRUE(shows("quit")) << screen_.text();
  // Just asked again, it owes an answer for seconds.
  pty_.type("qq");
  EXPECT_EQ(top_->wait(std::chrono::seconds(30)).status, 0);
}

TEST_F(TopTest, NoNameHarmsTheScreen) {
  for (const std::string& name : all_hostile()) hold(url(), name, {"--label", name});
  hold(url(), std::string(16384, 'x'));
  hold(url(), "日本語のロックの長い名前");
  start_top({url()}, {"--sort", "name"});
  ASSERT_TRUE(shows("50 locks")) << screen_.text();
  for (const auto& [columns, rows] : std::vector<std::pair<unsigned short, unsigned short>>{
           {100, 60}, {40, 10}, {17, 5}, {3, 2}, {1, 1}, {250, 60}}) {
    resize(columns, rows);
    // The keys in the last line tell which page it is.
    const auto page_is = [&](const std::string& key) {
      return comes([&] { return rows < 5 || screen_.row(rows - 1U).starts_with(key); });
    };
    pty_.type("G\r");
    EXPECT_TRUE(page_is("Esc")) << columns << "x" << rows << "\n" << screen_.text();
    EXPECT_TRUE(is_harmless(screen_.text())) << screen_.text();
    pty_.type("\x1b");
    EXPECT_TRUE(page_is("q")) << columns << "x" << rows << "\n" << screen_.text();
    EXPECT_TRUE(is_harmless(screen_.text())) << screen_.text();
  }
  EXPECT_TRUE(shows("日本語のロックの長い名前")) << screen_.text();
  EXPECT_FALSE(screen_.is_confused()) << "a sequence that is not ours reached the terminal";
}

TEST_F(TopTest, FollowsTheSizeOfTheTerminal) {
  hold(url(), "nightly");
  start_top({url()});
  ASSERT_TRUE(shows("OLDEST")) << screen_.text();
  resize(40, 10);
  EXPECT_TRUE(hides("OLDEST")) << screen_.text();
  EXPECT_TRUE(shows("nightly")) << screen_.text();
  resize(150, 40);
  EXPECT_TRUE(shows("MODE")) << screen_.text();
  EXPECT_TRUE(comes([&] { return has(screen_.row(39), "q quit"); })) << screen_.text();
}

TEST_F(TopTest, BreaksOnlyByTheTokenThatWasTyped) {
  hold(url(), "nightly");
  const std::string token = token_of("nightly");
  start_top({url()});
  ASSERT_TRUE(shows("nightly")) << screen_.text();
  pty_.type("b");
  ASSERT_TRUE(shows("type " + token + ", Enter: takes nightly from ")) << screen_.text();
  pty_.type("1\r");
  ASSERT_TRUE(shows("left as it is: that is not the token of its holder")) << screen_.text();
  EXPECT_EQ(token_of("nightly"), token);
  pty_.type("b" + token + "\r");
  EXPECT_TRUE(shows("broken: nightly, token " + token)) << screen_.text();
  EXPECT_TRUE(shows("0 locks")) << screen_.text();
}

// The question is asked about one holder; by the time it is answered, the next one holds.
TEST_F(TopTest, ABreakThatComesTooLateTouchesNobody) {
  const std::string handle = hold(url(), "nightly");
  const std::string token = token_of("nightly");
  start_top({url()});
  ASSERT_TRUE(shows("nightly")) << screen_.text();
  pty_.type("b" + token);
  ASSERT_TRUE(shows("break by token: " + token)) << screen_.text();
  run({"release", handle});
  hold(url(), "nightly");
  pty_.type("\r");
  EXPECT_TRUE(shows("not broken: ")) << screen_.text();
  EXPECT_NE(token_of("nightly"), token);
}

TEST_F(TopTest, ReadOnlyBreaksNothing) {
  hold(url(), "nightly");
  start_top({url()}, {"--read-only"});
  ASSERT_TRUE(shows("nightly")) << screen_.text();
  EXPECT_FALSE(has(screen_.text(), "b break"));
  pty_.type("b");
  EXPECT_TRUE(shows("nothing is broken with --read-only")) << screen_.text();
}

TEST_F(TopTest, ColourAndOtherCharactersOnlyWhereTheyAreWanted) {
  hold(url(), "日本");
  start_top({url()}, {}, {{"NO_COLOR", "1"}, {"LC_ALL", "C"}});
  ASSERT_TRUE(shows("\\u{65E5}\\u{672C}")) << screen_.text();
  EXPECT_TRUE(is_ascii(screen_.text())) << screen_.text();
  EXPECT_FALSE(has(pty_.screen(), ";36m") || has(pty_.screen(), ";32m"));
  EXPECT_TRUE(has(row_of("65E5"), "####")) << screen_.text();
}

// ---- The terminal is given back -----------------------------------------------------------------

class TopEndTest : public TopTest {
 protected:
  void start_on_a_quiet_terminal() {
    before_ = modes_of(pty_);
    start_top({url()});
    EXPECT_FALSE(same(modes_of(pty_), before_));
    EXPECT_FALSE(screen_.wraps());
  }
  void expect_given_back() {
    EXPECT_TRUE(comes([&] { return !screen_.is_alternate(); }));
    EXPECT_TRUE(screen_.has_cursor());
    EXPECT_TRUE(screen_.wraps());
    EXPECT_TRUE(same(modes_of(pty_), before_));
  }
  termios before_{};
};

TEST_F(TopEndTest, ByQ) {
  start_on_a_quiet_terminal();
  pty_.type("q");
  EXPECT_EQ(top_->wait().status, 0);
  expect_given_back();
}

TEST_F(TopEndTest, ByCtrlC) {
  start_on_a_quiet_terminal();
  pty_.type("\x03");
  EXPECT_EQ(top_->wait().status, 128 + SIGINT);
  expect_given_back();
}

TEST_F(TopEndTest, BySignals) {
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT}) {
    start_on_a_quiet_terminal();
    top_->kill(signal);
    EXPECT_EQ(top_->wait().status, 128 + signal);
    expect_given_back();
  }
}

TEST_F(TopEndTest, ATerminalThatIsNotReadKeepsNobodyFromEnding) {
  for (int i = 0; i < 60; ++i) hold(url(), "lock-" + std::to_string(i));
  pty_.resize(200, 60);
  top_.emplace(start_plain(
      {HOLDFAST_BINARY, "top", "--on", url(), "--interval", "100ms"},
      {.environment = {{"TERM", "xterm"}, {"LC_ALL", "C.UTF-8"}}, .terminal = pty_.name()}));
  before_ = modes_of(pty_);
  ASSERT_TRUE(eventually([&] { return !same(modes_of(pty_), before_); }));
  // Each makes it draw; nobody reads what it draws.
  for (unsigned short columns = 100; columns < 160; ++columns) {
    pty_.resize(columns, 60);
    pty_.type("G");
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  top_->kill(SIGTERM);
  EXPECT_EQ(top_->wait(std::chrono::seconds(30)).status, 128 + SIGTERM);
  EXPECT_TRUE(same(modes_of(pty_), before_));
}

TEST_F(TopEndTest, ATerminalThatIsGoneEndsIt) {
  std::optional<Pty> terminal(std::in_place, 80, 24);
  top_.emplace(start_plain({HOLDFAST_BINARY, "top", "--on", url()},
                           {.environment = {{"TERM", "xterm"}}, .terminal = terminal->name()}));
  ASSERT_TRUE(terminal->sees("holdfast top"));
  terminal.reset();
  EXPECT_EQ(top_->wait().status, 128 + SIGHUP);
}

// A shell with job control starts it, so that it can be stopped.
class TopJobTest : public TopTest {
 protected:
  void start_job() {
    shell_.emplace(
        start_plain({"bash", "--norc", "--noprofile", "-i"},
                    {.environment = {{"PS1", "> "}, {"TERM", "xterm"}, {"LC_ALL", "C.UTF-8"}},
                     .terminal = pty_.name()}));
    hold(url(), "nightly");
    pty_.type("unset HISTFILE; " + std::string(HOLDFAST_BINARY) + " top --on " + url() + "\n");
    ASSERT_TRUE(comes([&] { return screen_.is_alternate(); })) << screen_.text();
    ASSERT_TRUE(shows("nightly")) << screen_.text();
  }
  pid_t job() const {
    for (const pid_t child : children_of(shell_->pid())) return child;
    return 0;
  }
  void expect_a_usable_shell() {
    pty_.type("echo sum-$((1+1))\n");
    EXPECT_TRUE(shows("sum-2")) << screen_.text();
    EXPECT_TRUE(screen_.has_cursor() && screen_.wraps());
  }
  std::optional<Process> shell_;
};

TEST_F(TopJobTest, CtrlZGivesTheTerminalBackAndFgTakesItAgain) {
  start_job();
  pty_.type("\x1a");
  ASSERT_TRUE(comes([&] { return !screen_.is_alternate(); }));
  ASSERT_TRUE(shows("Stopped")) << screen_.text();
  expect_a_usable_shell();
  pty_.type("fg\n");
  ASSERT_TRUE(comes([&] { return screen_.is_alternate(); })) << screen_.text();
  EXPECT_TRUE(shows("nightly")) << screen_.text();
  pty_.type("/zzz");
  EXPECT_TRUE(shows("nothing matches")) << screen_.text();
  pty_.type("\rq");
  ASSERT_TRUE(comes([&] { return !screen_.is_alternate(); }));
  expect_a_usable_shell();
}

// Nobody can tidy up before SIGSTOP; afterwards the screen is whole again, and keys work.
TEST_F(TopJobTest, AfterSigstopAndFgTheScreenIsWhole) {
  start_job();
  ASSERT_GT(job(), 0);
  kill(job(), SIGSTOP);
  ASSERT_TRUE(shows("Stopped")) << screen_.text();
  // The shell writes over the picture.
  pty_.type("printf '\\033[2J'; fg\n");
  EXPECT_TRUE(shows("OLDEST")) << screen_.text();
  EXPECT_TRUE(shows("nightly")) << screen_.text();
  pty_.type("q");
  ASSERT_TRUE(comes([&] { return !screen_.is_alternate(); }));
  expect_a_usable_shell();
}

// ---- Without a terminal -------------------------------------------------------------------------

TEST_F(TopTest, WithoutATerminalItPrintsATableAndEnds) {
  hold(url(), "nightly", {"--label", "alice"});
  const Output output = run({"top"});
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(output.out.starts_with("ENGINE  LOCK     WAIT")) << output.out;
  EXPECT_TRUE(has(output.out, "\nsqlite  nightly  0     -")) << output.out;
  EXPECT_TRUE(has(output.out, "alice")) << output.out;
  EXPECT_FALSE(has(output.out, "\x1b"));
  EXPECT_EQ(run({"top", "--filter", "zzz"}).out.find("nightly"), std::string::npos);
  const Output two = run({"top", "--count", "2", "--interval", "100ms"});
  EXPECT_NE(two.out.find("nightly"), two.out.rfind("nightly")) << two.out;
}

TEST_F(TopTest, ATerminalThatCannotMoveItsCursorGetsATable) {
  hold(url(), "nightly");
  top_.emplace(start_plain({HOLDFAST_BINARY, "top", "--on", url()},
                           {.environment = {{"TERM", "dumb"}}, .terminal = pty_.name()}));
  EXPECT_TRUE(shows("nightly")) << screen_.text();
  EXPECT_EQ(top_->wait().status, 0);
  EXPECT_FALSE(has(pty_.screen(), "\x1b"));
}

TEST_F(TopTest, JsonIsAnObjectPerLookAndLine) {
  RedisServer redis;
  hold(url(), "stock", {"--owner", "job-7"});
  hold(redis.url(), "ledger", {"--owner", "job-9"});
  const Process one = wait_for(redis.url(), "ledger", "job-7");
  const Process other = wait_for(url(), "stock", "job-9");
  ASSERT_TRUE(eventually([&] {
    return json({"show", "stock"})["waiters"].size() == 1 &&
           has(run_bare({"--json", "show", "ledger", "--on", redis.url()}).out, "job-7");
  }));
  Process top = start_plain({HOLDFAST_BINARY, "top", "--json", "--interval", "100ms", "--on", url(),
                             "--on", "shop=" + redis.url()});
  const auto lines = [&] {
    std::vector<nlohmann::json> all;
    const std::string text = top.out();
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos;
         at = end + 1)
      all.push_back(nlohmann::json::parse(text.substr(at, end - at)));
    return all;
  };
  ASSERT_TRUE(eventually([&] { return lines().size() >= 2; }));
  const nlohmann::json first = lines()[0];
  EXPECT_EQ(first["engines"][1]["engine"], "shop");
  EXPECT_EQ(first["engines"][1]["waiters"], 1);
  ASSERT_EQ(first["locks"].size(), 2U);
  EXPECT_EQ(first["locks"][0]["engine"], "shop");
  EXPECT_EQ(first["locks"][0]["name"], "ledger");
  EXPECT_EQ(first["locks"][0]["holders"][0]["owner"], "job-9");
  EXPECT_EQ(first["deadlocks"].size(), 1U) << "in the first look already";
  EXPECT_TRUE(first["events"].empty());
  hold(url(), "newcomer");
  const auto is_told = [&] {
    for (const nlohmann::json& line : lines()) {
      for (const nlohmann::json& event : line["events"]) {
        if (event["name"] == "newcomer" && event["kind"] == "granted") return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(eventually(is_told)) << top.out();
  redis.kill();
  EXPECT_TRUE(eventually([&] { return lines().back()["engines"][1]["reachable"] == false; }));
  EXPECT_EQ(lines().back()["engines"][1]["error"]["code"], "unreachable");
  EXPECT_EQ(run_bare({"top", "--json", "--once", "--on", url(), "--on", redis.url()}).status, 69);
}

TEST_F(TopTest, BadOptionsAreRefused) {
  for (const Words& words :
       {Words{"--sort", "size"}, Words{"--interval", "5"}, Words{"--engine", "nobody"},
        Words{"--count", "x"}, Words{"--once", "--count", "2"}, Words{"extra"}}) {
    Words all = {"top"};
    all.insert(all.end(), words.begin(), words.end());
    const Output output = run(all);
    EXPECT_EQ(output.status, 64) << words[0] << output.out;
    EXPECT_FALSE(output.err.empty());
  }
}

}  // namespace
}  // namespace holdfast::test
