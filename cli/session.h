// Session: what every command shares: the engine's URL, the form of the output, and how to say that
// something went wrong. Not thread-safe; used by the main thread.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exit_status.h"
#include "holdfast/client.h"
#include "holdfast/log.h"

namespace holdfast::cli {

using Json = nlohmann::ordered_json;

class Tracing;

class Session {
 public:
  std::optional<std::string> on;      // --on: a URL or @FILE; none: HOLDFAST_URL, else the default
  std::vector<std::string> every_on;  // --on may be given several times: see places.h
  bool json = false;
  bool verbose = false;  // --verbose: logs all, whatever HOLDFAST_LOG says
  std::optional<std::string>
      otlp;  // --otlp: where spans go; none: as OpenTelemetry's variables say

  // Where the locks are: --on, else HOLDFAST_URL, else empty (the library's default).
  // A usage error if --on was given several times.
  Result<std::string> url() const;
  // The URL that a word of --on means: of @FILE the first line. Its secrets are shown to nobody from now on.
  static Result<std::string> resolve(std::string word);
  Result<Client> open(ClientOptions options = {}) const;
  // Has what a client does logged and traced, as is asked for.
  ClientOptions watched(const std::string& engine, ClientOptions options) const;

  // The log on standard error; nothing if nobody asks. A failure names the variable that is wrong.
  Result<std::optional<LogOptions>> log() const;
  // From now on clients are traced, if somebody asks for it, below a span of this name; also of what this process
  // starts. invalid_argument if --otlp is none. Before there are threads, and before open().
  Result<void> begin_trace(const std::string& name);
  // Sends the spans; may take two seconds. After all clients have been closed.
  void end_trace(int status);

  // Prints one object on standard output, in ASCII: what is not is written \uXXXX, so that it can
  // neither harm a terminal nor break a line of JavaScript. Invalid UTF-8 becomes U+FFFD.
  void print(const Json& object) const;
  // Prints why it failed (JSON: {"error": …} on standard output) and returns the exit status.
  int fail(const Failure& failure) const;
  // The same for what is not the library's business, such as a command that cannot be run.
  int fail(const char* code, const std::string& message, int status) const;
  // The user ended the wait (Ctrl-C): nothing to explain, except in JSON.
  int interrupted_by(int signal) const;
  // The same when the engine does not answer to the withdrawal either: ends the process.
  [[noreturn]] void give_up_on(int signal) const;
  // One line on standard error, by for_terminal().
  void warn(const std::string& message) const;

 private:
  std::shared_ptr<Tracing> tracing_;
};

// {"code": …, "message": …}, and who holds it.
Json describe_failure(const Failure& failure);

// {"name": …}, and "name_hex" for a name that is not UTF-8, of which "name" is what people can read.
void put_name(Json& object, const Name& name);

// The gate to the terminal for a message of any origin: one printable line, without secrets.
std::string for_terminal(std::string_view message);

}  // namespace holdfast::cli
