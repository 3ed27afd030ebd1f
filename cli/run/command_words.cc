#include "command_words.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "secrets.h"

namespace holdfast::cli {
namespace {

bool is_shell(std::string_view word) {
  constexpr std::array<std::string_view, 6> kShells = {"sh", "bash", "dash", "zsh", "ksh", "fish"};
  return std::ranges::find(kShells, word.substr(word.rfind('/') + 1)) != kShells.end();
}

Failure dashes_missing(const std::string& command) {
  return {Code::invalid_argument,
          "no command given; put -- before the command: holdfast run NAME -- " + redact(command)};
}

}  // namespace

Result<std::vector<std::string>> command_words(std::vector<std::string> behind_dashes,
                                               const std::optional<std::string>& shell_command,
                                               const std::vector<std::string>& names) {
  if (shell_command) {
    // `run x sh -c TEXT`, as flock(1) takes it, would be two locks.
    if (names.size() > 1 && is_shell(names.back())) return dashes_missing(names.back());
    if (behind_dashes.empty()) return std::vector<std::string>{"sh", "-c", *shell_command};
    return Failure(Code::invalid_argument, "give a command either by -c or after --, not both");
  }
  if (!behind_dashes.empty()) return behind_dashes;
  if (names.size() > 1) return dashes_missing(names[1]);
  return Failure(Code::invalid_argument, "no command given: holdfast run NAME -- CMD…");
}

int fail_to_run(const Session& session, const std::string& word, int error) {
  const bool missing = error == ENOENT;
  return session.fail(missing ? "command_not_found" : "command_not_executable",
                      "cannot run '" + word + "': " + std::strerror(error),
                      missing ? kNotFound : kCannotExecute);
}

int exec_command(const Session& session, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return fail_to_run(session, words[0], errno);
}

}  // namespace holdfast::cli
