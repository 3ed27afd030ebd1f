#include "claim_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "duration.h"
#include "label.h"
#include "run/lock_variables.h"
#include "secrets.h"
#include "word_list.h"

namespace holdfast::cli {

void ClaimOptions::add_to(CLI::App& command) {
  add_word_list(command, "NAME", names,
                "What to lock: 1 to 16384 bytes of any kind; of several names, all or none");
  command.add_option("--ttl", ttl, "How long the lock outlives a holder that vanished")
      ->type_name("DURATION")
      ->capture_default_str();
  auto* patience = command.add_option("--wait", wait, "Wait at most so long (default: no limit)")
                       ->type_name("DURATION");
  auto* seconds =
      command.add_option("-w,--timeout", wait_s, "The same in seconds, as flock takes it")
          ->type_name("SECONDS")
          ->excludes(patience);
  command.add_flag("-n,--no-wait,--nonblock", no_wait, "Do not wait: status 75 if it is not free")
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
  command
      .add_option(
          "--owner", owner,
          "Whose locks these are, for `holdfast deadlocks` (default: HOLDFAST_OWNER, else random)")
      ->type_name("OWNER");
  command.add_flag("--quiet", quiet, "Do not tell whom we wait for");
  command
      .add_option(
          "--otlp", otlp,
          "Where traces go, by OTLP over HTTP (default: OTEL_EXPORTER_OTLP_ENDPOINT, else nowhere)")
      ->type_name("URL");
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

// Zero: try once. Nothing: as long as it takes.
Result<std::optional<Duration>> patience_of(const ClaimOptions& options) {
  if (options.no_wait) return std::optional(Duration::zero());
  if (!options.wait && !options.wait_s) return std::optional<Duration>();
  const Result<Duration> wait =
      options.wait ? parse_duration("--wait", *options.wait) : parse_seconds(*options.wait_s);
  if (!wait) return wait.failure();
  return std::optional(*wait);
}

Result<std::vector<Name>> parse_names(const std::vector<std::string>& words) {
  if (words.size() > kMaxNames) {
    return Failure(Code::invalid_argument, "one call takes at most " + std::to_string(kMaxNames) +
                                               " names; these are " + std::to_string(words.size()));
  }
  std::vector<Name> names;
  for (const std::string& word : words) {
    if (auto problem = Name::problem_with(word)) return Failure(Code::invalid_argument, *problem);
    names.emplace_back(word);
  }
  return names;
}

}  // namespace

Result<ClaimPlan> ClaimPlan::from(const ClaimOptions& options,
                                  const std::vector<std::string>& command) {
  Result<std::vector<Name>> names = parse_names(options.names);
  if (!names) return names.failure();
  const Result<Duration> ttl = parse_duration("--ttl", options.ttl);
  if (!ttl) return ttl.failure();
  const Result<std::optional<Duration>> patience = patience_of(options);
  if (!patience) return patience.failure();

  ClaimPlan plan;
  plan.names = std::move(*names);
  plan.patience = *patience;
  plan.lock.ttl = *ttl;
  // Twice the library's default: the guard of `run` needs time to end a whole family of processes.
  plan.lock.warn_before = std::min<Duration>(*ttl / 5, std::chrono::seconds(5));
  if (options.shared) plan.mode = Mode::shared;
  if (options.permits > 0) {
    plan.mode = Mode::permit;
    plan.permits = options.permits;
  }
  plan.label = options.label.value_or(label_of(command));
  plan.lock.owner = options.owner.value_or(default_owner());
  plan.conflict_status = options.conflict_status;
  plan.quiet = options.quiet;
  return plan;
}

int ClaimPlan::fail(const Session& session, const Failure& failure) const {
  const int status = session.fail(failure);
  return failure.code() == Code::busy ? conflict_status : status;
}

std::vector<Name> ClaimPlan::sorted_names() const {
  std::vector<Name> sorted = names;
  std::ranges::sort(sorted);
  const auto doubled = std::ranges::unique(sorted);
  sorted.erase(doubled.begin(), doubled.end());
  return sorted;
}

LockRequest ClaimPlan::request(Client& client, const Name& name) const {
  switch (mode) {
    case Mode::exclusive: return client.mutex(name, lock);
    case Mode::shared: return client.shared_mutex(name, lock).shared();
    case Mode::permit: return client.semaphore(name, permits, lock);
  }
  throw LockError(Failure(Code::invalid_argument, "no such mode"));
}

MultiLock ClaimPlan::request_all(Client& client, const std::vector<Name>& wanted) const {
  std::vector<LockRequest> requests;
  for (const Name& name : wanted) requests.push_back(request(client, name));
  return MultiLock(std::move(requests));
}

Wait ClaimPlan::wait(std::stop_token stop) const {
  Wait wait;
  wait.stop = std::move(stop);
  wait.queue = patience != Duration::zero();
  if (patience) wait.deadline = Deadline::at(BootClock::now() + *patience);
  return wait;
}

}  // namespace holdfast::cli
