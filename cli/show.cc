// holdfast show: everything about one lock.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "job_info.h"
#include "lock_info.h"
#include "table.h"

namespace holdfast::cli {
namespace {

constexpr const char* kShowExamples = R"(Examples:
  holdfast show backup
  holdfast --json show backup | jq '.holders[0].token'

Shows the holders, the waiters in the order in which they will be served, and the highest token
ever granted for this name (etcd and ZooKeeper do not remember it while nobody holds the lock); with
those two also the lease or the session of each holder. OWNER is whose claim it is (`run --owner`), by
which `holdfast deadlocks` finds those that wait for each other. A lock that nobody holds is free; that is no
error.)";

// "  token 17: lease 694d8c3e5b6f7a01, revision 17"
void print_details(const HolderInfo& holder) {
  if (holder.details.empty()) return;
  std::string line;
  for (const auto& [name, value] : holder.details) {
    line += (line.empty() ? "" : ", ") + name + " " + shown_label(value);
  }
  std::printf("  token %s: %s\n", holder.token.str().c_str(), line.c_str());
}

void print_text(const LockInfo& lock) {
  std::printf("%s: %s", lock.name.display().c_str(), lock.holders.empty() ? "free" : "held");
  // Engines that take tokens from the server's own numbers need not remember a lock's last.
  if (lock.last_token != Token()) std::printf(", last token %s", lock.last_token.str().c_str());
  if (lock.permits > 0) {
    std::printf(", %zu of %u permits taken", lock.holders.size(), lock.permits);
  }
  std::printf("\n");
  if (!lock.holders.empty()) {
    Table table({"  HOLDER", "MODE", "TOKEN", "HELD", "EXPIRES", "OWNER"});
    for (const HolderInfo& holder : lock.holders) {
      table.add({"  " + shown_label(holder.label), mode_name(holder.mode), holder.token.str(),
                 shown(holder.held_for), shown(holder.expires_in), shown_owner(holder.owner)});
    }
    std::fputs(table.text().c_str(), stdout);
    for (const HolderInfo& holder : lock.holders) print_details(holder);
  }
  if (!lock.waiters.empty()) {
    Table table({"  WAITER", "MODE", "WAITING", "OWNER"});
    for (const WaiterInfo& waiter : lock.waiters) {
      table.add({"  " + shown_label(waiter.label), mode_name(waiter.mode), shown(waiter.waited_for),
                 shown_owner(waiter.owner)});
    }
    std::fputs(table.text().c_str(), stdout);
  }
}

int show(const Session& session, const std::string& name) {
  if (auto problem = Name::problem_with(name)) {
    return session.fail(Failure(Code::invalid_argument, *problem));
  }
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  Result<LockInfo> lock = client->inspect(name);
  if (!lock) return session.fail(lock.failure());
  // Most locks are no job's; an engine without records has none.
  std::optional<Job> job;
  if (client->guarantees().records) {
    Result<std::optional<Job>> stored = client->job(name);
    if (!stored) session.warn(stored.message());
    if (stored) job = std::move(*stored);
  }
  if (session.json) {
    Json object = to_json(*lock);
    if (job) object["job"] = to_json(*job);
    session.print(object);
    return kOk;
  }
  print_text(*lock);
  if (job) {
    std::printf("  last run: %s; due %s\n", job_text(*job).c_str(), due_text(*job).c_str());
    std::printf("  period: %s\n", job->schedule.c_str());
  }
  return kOk;
}

}  // namespace

void add_show(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("show", "Show who holds a lock and who waits for it");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "The lock")->type_name("")->required();
  command->footer(kShowExamples);
  command->callback([&invocation, name] {
    invocation.action = [&invocation, name] { return show(invocation.session, *name); };
  });
}

}  // namespace holdfast::cli
