// Lines of the log: which event has which level and keys, both formats, hostile text, and a standard error that nobody
// reads.
#include "holdfast/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "log/line.h"
#include "log/standard_error.h"

namespace holdfast {
namespace {

using Json = nlohmann::json;

struct Lines {
  std::vector<std::pair<LogLevel, std::string>> all;
  LogSink sink() {
    return [this](LogLevel level, std::string_view line) { all.emplace_back(level, line); };
  }
};

Claim log_claim(Name name = "nightly") {
  Claim claim{.name = std::move(name), .id = ClaimId({1}), .call = ClaimId({1})};
  claim.owner = "me";
  return claim;
}

void tell_all(Observer& observer) {
  const Claim claim = log_claim();
  const Hold hold{claim, Token(7)};
  const Failure down(Code::unreachable, "the server is down");
  observer.on_wait(claim);
  observer.on_retry(claim, down);
  observer.on_granted(hold, BootTime());
  observer.on_refused(claim, Failure(Code::busy, "held by somebody"));
  observer.on_refused(claim, down);
  observer.on_renewed(hold, BootTime());
  observer.on_renewal_failed(hold, down);
  observer.on_lost(hold, BootTime());
  observer.on_released(hold, true);
  observer.on_released(hold, false);
  observer.on_released(hold, down);
  observer.on_server({ServerEventKind::connected, "127.0.0.1:6379"});
  observer.on_server({ServerEventKind::disconnected, "127.0.0.1:6379", down});
  observer.on_server({ServerEventKind::error, "127.0.0.1:6379", down});
  observer.on_warning("evicts keys");
}

std::vector<std::string> events_at(LogLevel level) {
  Lines lines;
  const auto observer =
      log_observer("redis", {.level = level, .format = LogFormat::json, .sink = lines.sink()});
  tell_all(*observer);
  std::vector<std::string> events;
  for (const auto& [at, line] : lines.all) {
    const Json parsed = Json::parse(line);
    EXPECT_EQ(parsed.at("level"), log_level_name(at));
    EXPECT_EQ(parsed.at("engine"), "redis");
    events.push_back(parsed.at("event"));
  }
  return events;
}

TEST(LogTest, EachLevelHasItsEventsAndThoseOfTheLevelsBefore) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(events_at(LogLevel::error), (Words{"refused", "error"}));
  EXPECT_EQ(events_at(LogLevel::warn), (Words{"refused", "renewal_failed", "lost", "release_failed",
                                              "disconnected", "error", "warning"}));
  EXPECT_EQ(events_at(LogLevel::info),
            (Words{"granted", "refused", "refused", "renewal_failed", "lost", "released",
                   "not_held", "release_failed", "connected", "disconnected", "error", "warning"}));
  EXPECT_EQ(events_at(LogLevel::debug).size(), 15U);
}

TEST(LogTest, ALineNamesTheLockTheClaimTheTokenAndTheReason) {
  Lines lines;
  const BootTime now = BootTime(std::chrono::seconds(100));
  const auto observer =
      log_observer("redis", {.sink = lines.sink(), .clock = [now] { return now; }});
  Hold hold{log_claim(), Token(7)};
  hold.claim.id = ClaimId({2});
  hold.claim.since = now - std::chrono::milliseconds(1500);
  observer->on_granted(hold, now + std::chrono::seconds(30));
  observer->on_renewal_failed(hold, Failure(Code::unreachable, "it is \"down\""));
  ASSERT_EQ(lines.all.size(), 2U);
  const std::string claim = "claim=" + hold.claim.call.hex() + " attempt=" + hold.claim.id.hex();
  EXPECT_NE(lines.all[0].second.find("Z holdfast info granted engine=redis name=nightly "
                                     "mode=exclusive " +
                                     claim + " owner=me token=7 waited_ms=1500 valid_ms=30000"),
            std::string::npos)
      << lines.all[0].second;
  EXPECT_NE(lines.all[1].second.find(R"(token=7 code=unreachable reason="it is \"down\"")"),
            std::string::npos)
      << lines.all[1].second;
}

TEST(LogTest, EverythingIsPassedOn) {
  Lines outer;
  Lines inner;
  const auto last = log_observer("inner", {.level = LogLevel::debug, .sink = inner.sink()});
  tell_all(*log_observer("outer", {.level = LogLevel::error, .sink = outer.sink()}, last));
  EXPECT_EQ(inner.all.size(), 15U);
}

TEST(LogTest, HostileTextBreaksNoLineAndNoTerminal) {
  const std::vector<std::string> hostile = {"line\nholdfast: forged",
                                            "\x1b]0;title\x07",
                                            "dq\"uote\\",
                                            "bidi\u202egpj.exe",
                                            "\xff\xfe\x80",
                                            "cut\xe2\x82",
                                            std::string("nul\0x", 5),
                                            "\xc2\x9b"
                                            "31m",
                                            std::string(16384, '\x1b'),
                                            std::string(16384, '"'),
                                            "h\u00e9\u20ac\U0001F512"};
  for (const LogFormat format : {LogFormat::text, LogFormat::json}) {
    Lines lines;
    const auto observer = log_observer(hostile[0], {.format = format, .sink = lines.sink()});
    for (const std::string& text : hostile) {
      observer->on_granted({log_claim(text), Token(1)}, BootTime());
      observer->on_refused(log_claim(text), Failure(Code::unreachable, text + text));
      observer->on_server({ServerEventKind::error, text, Failure(Code::unreachable, text)});
      observer->on_warning(text);
    }
    ASSERT_EQ(lines.all.size(), 4 * hostile.size());
    for (const auto& [level, line] : lines.all) {
      EXPECT_LT(line.size(), internal::kMaxLogLine);
      EXPECT_TRUE(std::ranges::none_of(line, [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
      })) << line;
      if (format == LogFormat::text) continue;
      EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; })) << line;
      EXPECT_TRUE(Json::accept(line)) << line;
    }
  }
}

TEST(LogTest, TimesAreWrittenInUtc) {
  const auto time = std::chrono::sys_days(std::chrono::year(2024) / 2 / 29) +
                    std::chrono::hours(23) + std::chrono::microseconds(42);
  const std::string line = internal::log_text(LogFormat::text, {LogLevel::warn, "lost", {}, time});
  EXPECT_EQ(line, "2024-02-29T23:00:00.000042Z holdfast warn lost");
}

TEST(LogTest, ASinkThatThrowsHarmsNobody) {
  const auto observer = log_observer(
      "redis", {.sink = [](LogLevel, std::string_view) { throw std::runtime_error("full"); }});
  tell_all(*observer);
}

// ---- The environment ---------------------------------------------------------------------------

class Variables {
 public:
  Variables(const char* level, const char* format) {
    setenv("HOLDFAST_LOG", level, 1);
    setenv("HOLDFAST_LOG_FORMAT", format, 1);
  }
  ~Variables() {
    unsetenv("HOLDFAST_LOG");
    unsetenv("HOLDFAST_LOG_FORMAT");
  }
};

TEST(LogTest, TheEnvironmentSaysWhatIsLogged) {
  {
    const Variables none("", "json");
    EXPECT_FALSE(log_from_environment()->has_value());
    EXPECT_EQ(log_from_environment(LogLevel::debug).value()->format, LogFormat::json);
  }
  const Variables both("warn", "json");
  const auto asked = log_from_environment().value();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->level, LogLevel::warn);
  EXPECT_EQ(asked->format, LogFormat::json);
}

TEST(LogTest, WrongValuesAreNamed) {
  {
    const Variables wrong("loud\n", "");
    const auto asked = log_from_environment();
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.code(), Code::misconfigured);
    EXPECT_EQ(asked.message(), "HOLDFAST_LOG is 'loud\\x0A'; it can be error, warn, info or debug");
  }
  const Variables wrong("info", "xml");
  EXPECT_EQ(log_from_environment().message(),
            "HOLDFAST_LOG_FORMAT is 'xml'; it can be text or json");
}

// ---- Standard error ----------------------------------------------------------------------------

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  std::string read_some() const {
    std::string text(1 << 20, '\0');
    text.resize(
        static_cast<std::size_t>(std::max<ssize_t>(read(ends[0], text.data(), text.size()), 0)));
    return text;
  }
  int ends[2] = {-1, -1};
};

// With a write that waits, this test would hang.
TEST(StandardErrorTest, AFullPipeDropsLinesAndTellsHowMany) {
  const Pipe pipe;
  const std::string line(1000, 'x');
  int written = 0;
  while (internal::write_at_once(pipe.ends[1], line)) ++written;
  EXPECT_GT(written, 10);
  for (int i = 0; i < 25; ++i) internal::write_or_drop(pipe.ends[1], line, LogFormat::json);
  std::string read = pipe.read_some();
  EXPECT_EQ(std::ranges::count(read, '\n'), written);
  internal::write_or_drop(pipe.ends[1], "back", LogFormat::json);
  read = pipe.read_some();
  const Json told = Json::parse(read.substr(0, read.find('\n')));
  EXPECT_EQ(told.at("event"), "dropped_lines");
  EXPECT_EQ(told.at("count"), 25);
  EXPECT_TRUE(read.ends_with("\nback\n")) << read;
  internal::write_or_drop(pipe.ends[1], "once", LogFormat::json);
  EXPECT_EQ(pipe.read_some(), "once\n");
}

TEST(StandardErrorTest, AFullSocketDropsLinesToo) {
  Pipe none;
  close(none.ends[0]);
  close(none.ends[1]);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, none.ends), 0);
  int written = 0;
  while (internal::write_at_once(none.ends[1], std::string(4000, 'x'))) ++written;
  EXPECT_GT(written, 1);
  EXPECT_FALSE(internal::write_at_once(none.ends[1], std::string(4000, 'x')));
}

// The reader has gone: with the usual disposition SIGPIPE would end this process.
TEST(StandardErrorTest, AReaderThatHasGoneRaisesNoSignal) {
  Pipe pipe;
  const auto before = signal(SIGPIPE, SIG_DFL);
  close(pipe.ends[0]);
  EXPECT_FALSE(internal::write_at_once(pipe.ends[1], "nobody"));
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  signal(SIGPIPE, before);
  pipe.ends[0] = open("/dev/null", O_RDONLY);
  EXPECT_FALSE(internal::write_at_once(-1, "no descriptor"));
}

}  // namespace
}  // namespace holdfast
