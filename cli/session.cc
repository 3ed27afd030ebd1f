#include "session.h"

#include <strings.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "duration.h"
#include "holdfast/text.h"
#include "places.h"
#include "secrets.h"
#include "tracing.h"
#include "warning_printer.h"

namespace holdfast::cli {
namespace {

// The first line of a file: a URL with a password that is neither typed nor seen.
Result<std::string> read_url(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) {
    const std::string why = file.is_open() ? "it is empty or a directory" : std::strerror(errno);
    return Failure(Code::misconfigured, "cannot read the URL from the file '" + path + "': " + why);
  }
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) {
    return Failure(Code::misconfigured,
                   "the first line of '" + path + "' must be a URL; it is empty");
  }
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

std::string to_hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

// In any case of letters, as all schemes.
bool is_memory(const std::string& url) {
  constexpr std::string_view kScheme = "memory:";
  return url.size() >= kScheme.size() &&
         strncasecmp(url.data(), kScheme.data(), kScheme.size()) == 0;
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(Json(text).dump());
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

}  // namespace

Result<std::string> Session::url() const {
  if (every_on.size() > 1) {
    return Failure(Code::invalid_argument, "this command works on one engine: give --on once");
  }
  // A script whose variable is unset must not take a lock that only this machine knows.
  if (on && on->empty()) return Failure(Code::invalid_argument, "--on is empty: give a URL");
  const char* given = std::getenv("HOLDFAST_URL");
  return resolve(on.value_or(given != nullptr ? given : ""));
}

Result<std::string> Session::resolve(std::string url) {
  if (url.starts_with('@')) {
    Result<std::string> read = read_url(url.substr(1));
    if (!read) return read;
    url = *read;
  }
  if (is_memory(url)) {
    return Failure(
        Code::unsupported,
        "locks in memory are those of one process, and each holdfast command is a process of its "
        "own: they would exclude nobody. Without --on, a file of this user excludes all of this "
        "machine's processes; memory: is for programs' own tests, see docs/TESTING.md");
  }
  remember_secret(url, redacted(url));
  return url;
}

Result<Client> Session::open(ClientOptions options) const {
  Result<std::string> where = url();
  if (!where) return where.failure();
  if (!options.observer) options.observer = std::make_shared<WarningPrinter>();
  return Client::open(*where, watched(scheme_of(*where), std::move(options)));
}

ClientOptions Session::watched(const std::string& engine, ClientOptions options) const {
  options.log_from_environment = false;
  if (tracing_) options.observer = tracing_->observer(engine, std::move(options.observer));
  // Wrong values were refused before the command began.
  const Result<std::optional<LogOptions>> asked = log();
  if (asked && *asked) {
    options.observer = log_observer(engine, **asked, std::move(options.observer));
  }
  return options;
}

Result<std::optional<LogOptions>> Session::log() const {
  return log_from_environment(verbose ? std::optional(LogLevel::debug) : std::nullopt);
}

Result<void> Session::begin_trace(const std::string& name) {
  std::string why;
  std::optional<Collector> collector;
  if (otlp) {
    Result<Collector> given = Collector::parse(*otlp, "--otlp");
    if (!given) return given.failure();
    collector = std::move(*given);
  } else {
    collector = Collector::from_environment(why);
  }
  if (collector) tracing_ = std::make_shared<Tracing>(std::move(*collector), name);
  // The variables are for other programs too: they stop nothing.
  const Result<std::optional<LogOptions>> asked = log();
  if (!why.empty() && asked && *asked) {
    const LogField reason{"reason", why};
    log_line(**asked, LogLevel::warn, "no_traces", {&reason, 1});
  }
  return {};
}

void Session::end_trace(int status) {
  if (!tracing_) return;
  const Result<std::optional<LogOptions>> asked = log();
  tracing_->finish(status, asked ? *asked : std::nullopt);
  tracing_.reset();
}

void Session::print(const Json& object) const {
  const std::string text = object.dump(2, ' ', true, Json::error_handler_t::replace);
  std::fprintf(stdout, "%s\n", text.c_str());
}

int Session::fail(const Failure& failure) const {
  if (!json) {
    warn(failure.message());
    return exit_status_of(failure.code());
  }
  print({{"error", describe_failure(failure)}});
  return exit_status_of(failure.code());
}

int Session::fail(const char* code, const std::string& message, int status) const {
  if (json) {
    print({{"error", {{"code", code}, {"message", for_terminal(message)}}}});
  } else {
    warn(message);
  }
  return status;
}

int Session::interrupted_by(int signal) const {
  const int status = kSignalBase + signal;
  return json ? fail("cancelled", "interrupted by signal " + std::to_string(signal), status)
              : status;
}

void Session::give_up_on(int signal) const {
  if (!json) warn("the engine does not answer; if it granted the lock, that ends with its ttl");
  const int status = interrupted_by(signal);
  std::fflush(stdout);
  std::_Exit(status);
}

void Session::warn(const std::string& message) const {
  std::fprintf(stderr, "holdfast: %s\n", for_terminal(message).c_str());
}

Json describe_failure(const Failure& failure) {
  Json error = {{"code", code_name(failure.code())}, {"message", for_terminal(failure.message())}};
  if (const Busy* busy = failure.busy()) {
    error["holder"] = for_terminal(busy->holder);
    error["token"] = busy->token;
    error["rank"] = busy->rank;
    if (busy->expires_in) error["expires_in_ms"] = to_ms(*busy->expires_in);
  }
  return error;
}

void put_name(Json& object, const Name& name) {
  if (is_utf8(name.bytes())) {
    object["name"] = name.bytes();
    return;
  }
  object["name"] = name.display();
  object["name_hex"] = to_hex(name.bytes());
}

std::string for_terminal(std::string_view message) { return printable(redact(message)); }

}  // namespace holdfast::cli
