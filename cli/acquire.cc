// holdfast acquire: take a lock that outlives this process, and print a handle on it.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "claim_options.h"
#include "commands.h"
#include "duration.h"
#include "interrupt.h"
#include "wait_notice.h"

namespace holdfast::cli {
namespace {

constexpr const char* kAcquireExamples = R"(Examples:
  handle=$(holdfast acquire backup --ttl 5m --wait 10s) || exit
  … holdfast renew "$handle"      # again before five minutes are over
  holdfast release "$handle"

Nobody renews this lock but you: it ends with its ttl. The handle is the key to the lock: whoever
has it can release it. Prefer `holdfast run`, which renews, and ends the command when the lock is
lost. Locks that live in a connection (postgres recipe=advisory, mysql recipe=named, row) cannot
outlive their process: use run, or recipe=table.

Exit status: 0; 64 bad usage, 69 engine unreachable, 74 the handle could not be written (and the lock
was given back), 75 not acquired in time, 78 bad configuration.)";

void print(const Session& session, const ClaimPlan& plan, const Handle& handle) {
  if (!session.json) {
    std::printf("%s\n", handle.text().c_str());
    return;
  }
  Json object;
  put_name(object, plan.name);
  object["handle"] = handle.text();
  object["token"] = handle.hold().token.value();
  object["mode"] = mode_name(plan.mode);
  object["ttl_ms"] = to_ms(plan.lock.ttl);
  session.print(object);
}

int acquire(const Session& session, const ClaimOptions& options) {
  Result<ClaimPlan> plan = ClaimPlan::from(options);
  if (!plan) return session.fail(plan.failure());
  Result<Client> client = [&] {
    const ExitOnSignal at_once(session.json);
    return session.open({.label = plan->label});
  }();
  if (!client) return session.fail(client.failure());
  Interrupt interrupt([&session](int signal) { session.give_up_on(signal); });

  std::optional<WaitNotice> notice;
  if (!plan->quiet && plan->patience != Duration::zero()) {
    notice.emplace(session, std::vector{plan->name}, plan->label);
  }
  Result<Handle> handle = plan->request(*client).acquire_detached(plan->wait(interrupt.token()));
  notice.reset();
  if (const int signal = interrupt.end(); signal != 0) {
    // Granted and interrupted at the same moment: nobody will ever read the handle.
    if (handle && !client->release(*handle)) session.warn("the lock frees itself after its ttl");
    return session.interrupted_by(signal);
  }
  if (!handle) return plan->fail(session, handle.failure());

  // A reader that has gone must not end us before the lock is given back.
  std::signal(SIGPIPE, SIG_IGN);
  print(session, *plan, *handle);
  if (std::fflush(stdout) == 0) return kOk;
  std::perror("holdfast: cannot write the handle; the lock is given back");
  if (!client->release(*handle)) session.warn("the lock frees itself after its ttl");
  return kOutput;
}

}  // namespace

void add_acquire(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("acquire", "Take a lock and print a handle (for scripts)");
  auto options = std::make_shared<ClaimOptions>();
  options->add_to(*command);
  command->footer(kAcquireExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return acquire(invocation.session, *options); };
  });
}

}  // namespace holdfast::cli
