// holdfast acquire: take a lock that outlives this process, and print a handle on it.
#include <CLI/CLI.hpp>
#include <algorithm>
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
  handles=$(holdfast acquire stock ledger) && … && holdfast release "$handles"

Of several names it takes all or none, and prints a handle for each, one per line, as the names
were given. Nobody renews a lock but you: it ends with its ttl. The handle is the key to the lock:
whoever has it can release it. Prefer `holdfast run`, which renews, and ends the command when the
lock is lost. Locks that live in a connection (postgres recipe=advisory, mysql recipe=named, row) cannot
outlive their process: use run, or recipe=table.

Exit status: 0; 64 bad usage, 69 engine unreachable, 74 the handle could not be written (and the lock
was given back), 75 not acquired in time, 78 bad configuration.)";

void print(const Session& session, const ClaimPlan& plan, const std::vector<Handle>& handles) {
  Json locks = Json::array();
  for (const Handle& handle : handles) {
    if (!session.json) std::printf("%s\n", handle.text().c_str());
    Json& lock = locks.emplace_back();
    put_name(lock, handle.hold().claim.name);
    lock["handle"] = handle.text();
    lock["token"] = handle.hold().token.value();
  }
  if (!session.json) return;
  Json object;
  if (locks.size() == 1) object = locks[0];
  object["mode"] = mode_name(plan.mode);
  object["ttl_ms"] = to_ms(plan.lock.ttl);
  object["locks"] = std::move(locks);
  session.print(object);
}

void give_back(const Session& session, Client& client, const std::vector<Handle>& handles) {
  bool all = true;
  for (const Handle& handle : handles) all = client.release(handle) && all;
  if (!all) session.warn("a lock that could not be given back frees itself after its ttl");
}

// Sorted by name. While it waits for one of several, those that it has are renewed.
Result<std::vector<Handle>> take(const ClaimPlan& plan, Client& client, const Wait& wait) {
  const std::vector<Name> names = plan.sorted_names();
  if (names.size() == 1) {
    Result<Handle> handle = plan.request(client, names[0]).acquire_detached(wait);
    if (!handle) return handle.failure();
    return std::vector{std::move(*handle)};
  }
  MultiLock locks = plan.request_all(client, names);
  Result<MultiLease> leases =
      !wait.queue     ? locks.try_acquire()
      : plan.patience ? locks.try_acquire_for(wait.deadline.moment() - BootClock::now(), wait.stop)
                      : locks.acquire(wait.stop);
  if (!leases) return leases.failure();
  return leases->detach();
}

// As the user gave the names, so that the first line is the handle of the first name. A name that was given twice
// has one handle.
std::vector<Handle> in_order(const ClaimPlan& plan, std::vector<Handle> handles) {
  std::ranges::sort(handles, {}, [&](const Handle& handle) {
    return std::ranges::find(plan.names, handle.hold().claim.name) - plan.names.begin();
  });
  return handles;
}

int acquire(Session& session, const ClaimOptions& options) {
  Result<ClaimPlan> plan = ClaimPlan::from(options);
  if (!plan) return session.fail(plan.failure());
  session.otlp = options.otlp;
  if (Result<void> traced = session.begin_trace("holdfast acquire"); !traced)
    return session.fail(traced.failure());
  Result<Client> client = [&] {
    const ExitOnSignal at_once(session.json);
    return session.open({.label = plan->label, .owner = plan->lock.owner.str()});
  }();
  if (!client) return session.fail(client.failure());
  Interrupt interrupt([&session](int signal) { session.give_up_on(signal); });

  std::optional<WaitNotice> notice;
  if (!plan->quiet && plan->patience != Duration::zero()) {
    notice.emplace(session, plan->sorted_names(), plan->label, WaitNotice::Audience{});
  }
  Result<std::vector<Handle>> handles = take(*plan, *client, plan->wait(interrupt.token()));
  notice.reset();
  if (const int signal = interrupt.end(); signal != 0) {
    // Granted and interrupted at the same moment: nobody will ever read the handles.
    if (handles) give_back(session, *client, *handles);
    return session.interrupted_by(signal);
  }
  if (!handles) return plan->fail(session, handles.failure());

  // A reader that has gone must not end us before the locks are given back.
  std::signal(SIGPIPE, SIG_IGN);
  print(session, *plan, in_order(*plan, *handles));
  if (std::fflush(stdout) == 0) return kOk;
  std::perror("holdfast: cannot write the handle; the lock is given back");
  give_back(session, *client, *handles);
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
