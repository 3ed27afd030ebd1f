// Session: what every command shares: the engine's URL, the form of the output, and how to say that
// something went wrong. Not thread-safe; used by the main thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "exit_status.h"
#include "holdfast/client.h"

namespace holdfast::cli {

using Json = nlohmann::ordered_json;

class Session {
 public:
  std::optional<std::string> on;  // --on: a URL or @FILE; none: HOLDFAST_URL, else the default
  bool json = false;

  // Where the locks are: --on, else HOLDFAST_URL, else empty (the library's default).
  Result<std::string> url() const;
  Result<Client> open(ClientOptions options = {}) const;

  // Prints one object on standard output.
  void print(const Json& object) const;
  // Prints why it failed (JSON: {"error": …} on standard output) and returns the exit status.
  int fail(const Failure& failure) const;
  // The same for what is not the library's business, such as a command that cannot be run.
  int fail(const char* code, const std::string& message, int status) const;
  // The user ended the wait (Ctrl-C): nothing to explain, except in JSON.
  int interrupted_by(int signal) const;
  // The same when the engine does not answer to the withdrawal either: ends the process.
  [[noreturn]] void give_up_on(int signal) const;
  // One line on standard error, with a password, if any, hidden.
  void warn(const std::string& message) const;
};

// {"name": …}, and "name_hex" for a name that is not UTF-8, of which "name" is what people can read.
void put_name(Json& object, const Name& name);

// Text that came from somebody else (a holder's label), safe for a terminal.
std::string printable(const std::string& text);

}  // namespace holdfast::cli
