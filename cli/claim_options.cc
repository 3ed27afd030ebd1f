#include "claim_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "duration.h"
#include "label.h"
#include "secrets.h"

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
  auto* seconds = command.add_option("-w", wait_s, "The same in seconds, as flock takes it")
                      ->type_name("SECONDS")
                      ->excludes(patience);
  command.add_flag("-n,--no-wait", no_wait, "Do not wait: status 75 if it is not free")
      ->excludes(patience)
      ->excludes(seconds);
  command
      .add_option("-E,--conflict-exit-code", conflict_status,
                  "The status if it is not free in time, instead of 75")
      ->type_name("N")
      ->check(CLI::Range(0, 255).description(""));
  auto* together = command.add_flag("-s,--shared", shared, "Together with other shared holders");
  command.add_flag("-x,--exclusive", exclusive, "Alone (default)")->excludes(together);
  command
      .add_option("--permits", permits, "One of N permits; N is stored with the name and checked")
      ->type_name("N")
      ->check(CLI::Range(1U, 1'000'000U).description(""))
      ->excludes(together);
  command
      .add_option("--label", label,
                  "What others see of this holder (default: user, host, process and command)")
      ->type_name("TEXT");
  command.add_flag("--quiet", quiet, "Do not tell whom we wait for");
}

namespace {

// Seconds with a fraction, as in `flock -w 0.5`; a duration with its unit is understood too.
Result<Duration> parse_seconds(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string::npos) {
    return parse_duration("-w", text);
  }
  double seconds = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const std::chrono::duration<double> span(seconds);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || span > kLongest) {
    return Failure(
        Code::invalid_argument,
        "-w " + quoted_word(text) + " is not a number of seconds up to 2592000 (30 days)");
  }
  return std::chrono::duration_cast<Duration>(span);
}

}  // namespace

Result<ClaimPlan> ClaimPlan::from(const ClaimOptions& options,
                                  const std::vector<std::string>& command) {
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
  } else if (options.wait_s) {
    Result<Duration> wait = parse_seconds(*options.wait_s);
    if (!wait) return wait.failure();
    plan.patience = *wait;
  }
  plan.label = options.label.value_or(label_of(command));
  plan.conflict_status = options.conflict_status;
  plan.quiet = options.quiet;
  return plan;
}

int ClaimPlan::fail(const Session& session, const Failure& failure) const {
  const int status = session.fail(failure);
  return failure.code() == Code::busy ? conflict_status : status;
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
