// Shared by the programs of the command: everything around their subcommands.
#pragma once

#include <CLI/Error.hpp>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "commands.h"

namespace holdfast::cli {

// Understands the words and does what they say; every error becomes a message and a status.
int parse_and_act(CLI::App& app, Invocation& invocation, std::vector<std::string> words,
                  const std::function<int(const CLI::ParseError&)>& on_bad_usage);

// The disposition of SIGXFSZ that our parent chose, which we ignore: a write beyond `ulimit -f` must fail
// with an error, not kill a process that holds a lock. For commands that we start.
inline struct sigaction file_size_signal{};

inline constexpr const char* kOnHelp = "Where the locks are: a URL, or @FILE with one";

// --on, for all commands. It may be given several times; see Session::url() and places.h.
void add_on(CLI::App& app, Session& session, const char* help);

// --json and --verbose, for all commands.
void add_output(CLI::App& app, Session& session);

// For a program that is one command of `holdfast`: `declare` adds that command.
int run_command(const std::string& word, const char* on_help,
                void (*declare)(CLI::App& app, Invocation& invocation),
                std::vector<std::string> words);

// The body of main(): `run` gets the words behind the program's own name.
int run_program(int argc, char** argv, int (*run)(std::vector<std::string> words));

}  // namespace holdfast::cli
