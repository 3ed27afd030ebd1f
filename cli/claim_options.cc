#include "claim_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "duration.h"

namespace holdfast::cli {

void ClaimOptions::add_to(CLI::App& command) {
  command.add_option("NAME", name, "What to lock: 1 to 16384 bytes of any kind")
      ->type_name("")
      ->required();
  command.add_option("--ttl", ttl, "How long the lock outlives a holder that vanished")
      ->type_name("DURATION")
      ->capture_default_str();
  auto* patience = command.add_option("--wait", wait, "Wait at most so long (default: no limit)")
                       ->type_name("DURATION");
  command.add_flag("--no-wait", no_wait, "Do not wait: status 75 if it is not free")
      ->excludes(patience);
  auto* together = command.add_flag("--shared", shared, "Together with other shared holders");
  command
      .add_option("--permits", permits, "One of N permits; N is stored with the name and checked")
      ->type_name("N")
      ->check(CLI::Range(1U, 1'000'000U).description(""))
      ->excludes(together);
}

Result<ClaimPlan> ClaimPlan::from(const ClaimOptions& options) {
  if (auto problem = Name::problem_with(options.name)) {
    return Failure(Code::invalid_argument, *problem);
  }
  Result<Duration> ttl = parse_duration("--ttl", options.ttl);
  if (!ttl) return ttl.failure();

  ClaimPlan plan(options.name);
  plan.lock.ttl = *ttl;
  // Twice the library's default: the guard of `run` needs time to end a whole family of processes.
  plan.lock.warn_before = std::min<Duration>(*ttl / 5, std::chrono::seconds(5));
  if (options.shared) plan.mode = Mode::shared;
  if (options.permits > 0) {
    plan.mode = Mode::permit;
    plan.permits = options.permits;
  }
  if (options.no_wait) {
    plan.patience = Duration::zero();
  } else if (options.wait) {
    Result<Duration> wait = parse_duration("--wait", *options.wait);
    if (!wait) return wait.failure();
    plan.patience = *wait;
  }
  return plan;
}

LockRequest ClaimPlan::request(Client& client) const {
  switch (mode) {
    case Mode::exclusive: return client.mutex(name, lock);
    case Mode::shared: return client.shared_mutex(name, lock).shared();
    case Mode::permit: return client.semaphore(name, permits, lock);
  }
  throw LockError(Failure(Code::invalid_argument, "no such mode"));
}

Wait ClaimPlan::wait(std::stop_token stop) const {
  Wait wait;
  wait.stop = std::move(stop);
  wait.queue = patience != Duration::zero();
  if (patience) wait.deadline = Deadline::at(BootClock::now() + *patience);
  return wait;
}

}  // namespace holdfast::cli
