// Every command of `holdfast`: each function declares its options, its help and what it does.
// A command's action is stored, not run: main runs it when the whole command line was understood.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "session.h"

namespace CLI {
class App;
}

namespace holdfast::cli {

struct Invocation {
  Session session;
  std::vector<std::string> command;  // what follows "--" (run)
  std::function<int()> action;
};

void add_run(CLI::App& app, Invocation& invocation);
void add_acquire(CLI::App& app, Invocation& invocation);
void add_renew(CLI::App& app, Invocation& invocation);
void add_release(CLI::App& app, Invocation& invocation);
void add_ls(CLI::App& app, Invocation& invocation);
void add_jobs(CLI::App& app, Invocation& invocation);
void add_show(CLI::App& app, Invocation& invocation);
void add_break(CLI::App& app, Invocation& invocation);
void add_deadlocks(CLI::App& app, Invocation& invocation);
void add_engines(CLI::App& app, Invocation& invocation);
void add_doctor(CLI::App& app, Invocation& invocation);
void add_schema(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_sim(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli
