// Log: one line for each event of a client's locks, on standard error or into a logger of yours.
//
//   HOLDFAST_LOG=info ./program                     any program that links the library
//   HOLDFAST_LOG=debug HOLDFAST_LOG_FORMAT=json …   JSON lines
//
//   // into spdlog; the observers of a client are chained by `next`
//   holdfast::LogOptions log{.level = holdfast::LogLevel::debug,
//                            .sink = [](holdfast::LogLevel, std::string_view line) { spdlog::info("{}", line); }};
//   auto client = holdfast::Client::open(url, {.observer = holdfast::log_observer("redis", log)});
//
// docs/LOGS.md has all events with their levels and keys.
//
//   level   what is told
//   error   calls and requests that failed
//   warn    losses, failed renewals, connections that ended, the engine's warnings
//   info    grants, releases, calls that ended busy or cancelled, connects
//   debug   waits, retries, renewals
//
// A line is printable and never holds a login, whatever strangers have written into names and answers. It has the
// claim's id: a handle can be made from it by somebody who can reach the store, who could break the lock as well.
//
// Lines on standard error never hold up a lock: one that cannot be written at once (a pipe that nobody empties, a
// stopped terminal) is dropped, and the next one that can tells how many were. They are at most 4096 bytes long; long
// names and reasons are cut.
//
// Thread safety: all of it. Nothing is shared between processes: a forked child may go on logging.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "holdfast/export.h"
#include "holdfast/observer.h"
#include "holdfast/result.h"

namespace holdfast {

// Each includes those before it.
enum class LogLevel { error, warn, info, debug };
enum class LogFormat { text, json };

// "warn": as HOLDFAST_LOG takes it.
HOLDFAST_API const char* log_level_name(LogLevel level);

// Gets each line, without its end. Called inside the loops of clients: short, without calls into Holdfast. What it
// throws is swallowed.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  LogSink sink{};  // none: standard error
  // The clock of the clients, for how long a call waited. Default: BootClock. With TestWorld: [&] { return world.now(); }.
  std::function<BootTime()> clock{};
};

// Logs what it hears, and passes it on to `next`, if there is one. `engine` is told in each line.
HOLDFAST_API std::shared_ptr<Observer> log_observer(std::string_view engine,
                                                    LogOptions options = {},
                                                    std::shared_ptr<Observer> next = {});

// As HOLDFAST_LOG and HOLDFAST_LOG_FORMAT ask; nothing if HOLDFAST_LOG is unset or empty. With a `level`, that counts
// instead of HOLDFAST_LOG. misconfigured, with a message that says what they may be, if one is none of those.
// Client::open() does so by itself, unless ClientOptions::log_from_environment is false.
HOLDFAST_API Result<std::optional<LogOptions>> log_from_environment(
    std::optional<LogLevel> level = {});

// One value of a line. A text may be anything; it is quoted as the format needs it.
struct LogField {
  std::string_view key;  // of letters and _
  std::variant<std::string_view, std::uint64_t> value;
};

// A line of the program's own in the same form, if `options` let its level through.
HOLDFAST_API void log_line(const LogOptions& options, LogLevel level, std::string_view event,
                           std::span<const LogField> fields) noexcept;

}  // namespace holdfast
