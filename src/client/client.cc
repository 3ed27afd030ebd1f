#include "holdfast/client.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/random.h"
#include "base/real_runtime.h"
#include "base/server_reporter.h"
#include "base/unreachable_instead_of_unknown.h"
#include "base/url.h"
#include "base/watchdog.h"
#include "client/client_core.h"
#include "engines/registry.h"
#include "holdfast/log.h"
#include "lease/locker.h"
#include "lease/owner_label.h"
#include "log/standard_error.h"
#include "recipes/job_record.h"
#include "recipes/job_store.h"

namespace holdfast {

namespace {

using internal::Locker;
using internal::RealRuntime;
using internal::ServerReporter;
using internal::Url;
using internal::Watchdog;

// A locker and what it stands on.
struct Core {
  std::optional<ServerReporter> reporter;  // if there is an observer
  RealRuntime runtime;
  Watchdog watchdog;
  std::unique_ptr<Locker> locker;
};

// The effective user's name; empty if this file does not know it. (getpwuid() loads name services, which costs more
// than taking a lock.)
std::string name_in_passwd() {
  std::ifstream users("/etc/passwd");
  const std::string wanted = ":" + std::to_string(geteuid()) + ":";
  for (std::string line; std::getline(users, line);) {
    const std::size_t name = line.find(':');
    const std::size_t id = name == std::string::npos ? name : line.find(':', name + 1);
    if (id != std::string::npos && line.compare(id, wanted.size(), wanted) == 0) {
      return line.substr(0, name);
    }
  }
  return {};
}

// Owns what the engine's coroutines only refer to.
Task<Result<std::vector<LockInfo>>> list(Locker& locker, std::string prefix) {
  Result<std::vector<LockInfo>> all =
      co_await internal::contained(locker.engine().list(prefix, locker.request_deadline()));
  if (!all) co_return internal::unreachable_instead_of_unknown(all.failure());
  std::ranges::for_each(*all, internal::take_owners);
  co_return all;
}
Task<Result<LockInfo>> inspect(Locker& locker, Name name) {
  Result<LockInfo> info =
      co_await internal::contained(locker.engine().inspect(name, locker.request_deadline()));
  if (!info) co_return internal::unreachable_instead_of_unknown(info.failure());
  internal::take_owners(*info);
  co_return info;
}
Task<Result<std::optional<std::string>>> read_record(Locker& locker, Name name) {
  internal::JobStore store(locker, name);
  co_return co_await store.read(Deadline::at(locker.runtime().now()), {});
}
Task<Result<std::vector<Record>>> list_records(Locker& locker, std::string prefix) {
  co_return co_await internal::list_records(locker.engine(), prefix, locker.request_deadline());
}
Task<Result<bool>> remove_record(Locker& locker, Name name) {
  internal::JobStore store(locker, name);
  const Deadline soon = locker.request_deadline();
  for (;;) {
    Result<std::optional<std::string>> stored = co_await store.read(soon, {});
    if (!stored) co_return stored.failure();
    if (!*stored) co_return false;
    const Result<bool> removed = co_await store.swap(*stored, {}, soon, {});
    if (!removed || *removed || soon.passed(locker.runtime().now())) co_return removed;
  }
}
Task<Result<Examination>> examine(Locker& locker) {
  co_return co_await internal::contained(locker.engine().examine(locker.request_deadline()));
}
Task<Result<void>> evict(Locker& locker, Name name, Token token) {
  co_return co_await internal::contained(
      locker.engine().evict(name, token, locker.request_deadline()));
}
Task<Result<void>> ping(Locker& locker) {
  const Result<LockInfo> answer = co_await inspect(locker, "holdfast-ping");
  if (!answer) co_return answer.failure();
  co_return Result<void>();
}

// A wrong value in the environment is told once, and holds up nobody.
std::shared_ptr<Observer> observer_of(const ClientOptions& options, const std::string& engine) {
  if (!options.log_from_environment) return options.observer;
  Result<std::optional<LogOptions>> asked = log_from_environment();
  if (asked)
    return *asked ? log_observer(engine, std::move(**asked), options.observer) : options.observer;
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) {
    const std::string line = "holdfast: nothing is logged: " + asked.message();
    static_cast<void>(internal::write_at_once(STDERR_FILENO, line));
  }
  return options.observer;
}

Failure moved_from() { return Failure(Code::closed, "this client was moved from"); }

// The Async of `task(locker)`; `closed` without a locker.
template <class Begin>
auto begun(const std::shared_ptr<Locker>& locker, const Begin& task)
    -> Async<typename decltype(Async(locker->shared_loop(), task(*locker)))::Value> {
  using Answer = decltype(Async(locker->shared_loop(), task(*locker)));
  if (!locker) return Answer(moved_from());
  return Answer(locker->shared_loop(), task(*locker));
}

}  // namespace

std::string default_label() {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  std::string user = name_in_passwd();
  if (user.empty()) {
    const char* given = std::getenv("USER");
    user = given && *given ? given : "uid " + std::to_string(geteuid());
  }
  return user + "@" + host + " pid " + std::to_string(getpid()) + " " +
         program_invocation_short_name;
}

std::string default_owner() {
  const char* given = std::getenv("HOLDFAST_OWNER");
  if (given && *given && !internal::problem_with_owner(given)) return given;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;
  char text[13];
  std::snprintf(text, sizeof text, "%012llx",
                static_cast<unsigned long long>(internal::Random::from_kernel().next() & kMask));
  return text;
}

Result<Client> Client::over(const EngineFactory& factory, ClientOptions options) {
  if (options.label.empty()) options.label = default_label();
  if (options.owner.empty()) options.owner = default_owner();
  if (auto problem = internal::problem_with_owner(options.owner)) {
    return Failure(Code::invalid_argument, std::move(*problem));
  }
  std::unique_ptr<Core> core;
  Result<std::unique_ptr<Engine>> engine = [&]() -> Result<std::unique_ptr<Engine>> {
    try {
      core = std::make_unique<Core>();
      const RealRuntime::Inside inside(core->runtime);
      if (options.observer) {
        core->runtime.set_server_reporter(&core->reporter.emplace(options.observer));
      }
      return factory(core->runtime);
    } catch (const LockError&) {
      return internal::current_failure();
    } catch (const std::exception&) {  // No descriptor left, no memory, or what a factory throws.
      return internal::current_failure();
    }
  }();
  if (!engine) return engine.failure();
  {
    const RealRuntime::Inside inside(core->runtime);
    core->locker = std::make_unique<Locker>(core->runtime, core->runtime, std::move(engine).value(),
                                            std::move(options), &core->watchdog);
  }
  return Client(internal::share_locker(std::move(core)));
}

Result<Client> Client::open(std::string_view url, ClientOptions options) {
  if (options.label.empty()) options.label = default_label();
  if (options.owner.empty()) options.owner = default_owner();
  std::string text(url);
  if (text.empty()) {
    Result<std::string> standard = default_url();
    if (!standard) return standard.failure();
    text = *standard;
    // Only here: a directory that the user named must exist, or a typing error would go unseen.
    std::error_code error;
    const auto folder = std::filesystem::path(text.substr(text.find("://") + 3)).parent_path();
    if (std::filesystem::create_directories(folder, error)) {
      std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
    }
  }
  const Result<Url> parsed = Url::parse(text);
  if (!parsed) return parsed.failure();
  options.observer = observer_of(options, parsed->scheme);
  // Claims without a label of their own share one text: an engine that knows it need not keep it for each.
  ClientOptions of_engine = options;
  of_engine.label = internal::kept_label(options.owner, options.label);
  return over([&](Runtime& runtime) { return internal::open_engine(*parsed, runtime, of_engine); },
              options);
}

Result<std::string> Client::default_url() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && state[0] == '/') return std::string("sqlite://") + state + "/holdfast/locks.db";
  const char* home = std::getenv("HOME");
  if (!home || home[0] != '/') {
    const passwd* user = getpwuid(geteuid());
    home = user ? user->pw_dir : nullptr;
  }
  if (!home || home[0] != '/') {
    return Failure(Code::misconfigured,
                   "there is no home directory for the embedded engine; set HOLDFAST_URL, or "
                   "XDG_STATE_HOME");
  }
  return std::string("sqlite://") + home + "/.local/state/holdfast/locks.db";
}

Result<std::vector<std::string>> Client::schema(std::string_view url) {
  const Result<Url> parsed = Url::parse(url);
  if (!parsed) return parsed.failure();
  return internal::schema_of(*parsed);
}

std::vector<Client::BuiltIn> Client::engines() {
  std::vector<BuiltIn> all;
  for (const internal::EngineEntry& entry : internal::built_in_engines()) {
    all.push_back({entry.guarantees, entry.example_url});
    for (const internal::OtherRecipe& other : entry.others) {
      all.push_back({other.guarantees, other.example_url});
    }
  }
  return all;
}

Client::Client(std::shared_ptr<Locker> locker) : locker_(std::move(locker)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

LockRequest Client::request(const Name& name, Mode mode, std::uint32_t permits,
                            const LockOptions& options) {
  Claim claim{.name = name, .mode = mode, .permits = permits};
  return LockRequest(locker_, std::move(claim), options);
}

Mutex Client::mutex(const Name& name, const LockOptions& options) {
  return Mutex(request(name, Mode::exclusive, 1, options));
}

SharedMutex Client::shared_mutex(const Name& name, const LockOptions& options) {
  Claim writer{.name = name, .mode = Mode::exclusive, .among_readers = true};
  return {LockRequest(locker_, std::move(writer), options),
          request(name, Mode::shared, 1, options)};
}

Semaphore Client::semaphore(const Name& name, std::uint32_t permits, const LockOptions& options) {
  return {request(name, Mode::permit, permits, options), permits};
}

RecursiveMutex Client::recursive_mutex(const Name& name, const LockOptions& options) {
  return RecursiveMutex(request(name, Mode::exclusive, 1, options));
}

MultiLock Client::multi_lock(std::vector<Name> names, const LockOptions& options) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<LockRequest> requests;
  for (const Name& name : names) requests.push_back(request(name, Mode::exclusive, 1, options));
  return MultiLock(std::move(requests));
}

Once Client::once(const Name& name, const Period& period, const OnceOptions& options) {
  checked();
  return Once(locker_, name, period, options);
}

Result<std::optional<Job>> Client::job(const Name& name) {
  const Result<std::optional<std::string>> stored =
      run_blocking(checked().loop(), read_record(checked(), name));
  if (!stored) return stored.failure();
  if (!*stored) return std::optional<Job>();
  Result<Job> job = internal::parse_job(name, **stored);
  if (!job) return job.failure();
  return std::optional(std::move(*job));
}

Result<std::vector<StoredJob>> Client::jobs(const std::string& prefix) {
  const Result<std::vector<Record>> records =
      run_blocking(checked().loop(), list_records(checked(), prefix));
  if (!records) return records.failure();
  std::vector<StoredJob> jobs;
  for (const Record& record : *records) {
    jobs.push_back({record.name, internal::parse_job(record.name, record.value)});
  }
  return jobs;
}

Result<bool> Client::forget_job(const Name& name) {
  return run_blocking(checked().loop(), remove_record(checked(), name));
}

Election Client::election(const Name& name, const LockOptions& options) {
  return Election(locker_, name, options);
}

Async<Result<MultiLease>> Client::async_acquire_all(std::vector<Name> names,
                                                    const LockOptions& options,
                                                    std::stop_token stop) {
  if (!locker_) return Async<Result<MultiLease>>(moved_from());
  try {
    return multi_lock(std::move(names), options).async_acquire(std::move(stop));
  } catch (const LockError& error) {  // The options are wrong.
    return Async<Result<MultiLease>>(error.failure());
  }
}

Result<MultiLease> Client::acquire_all(std::vector<Name> names, const LockOptions& options,
                                       std::stop_token stop) {
  return async_acquire_all(std::move(names), options, std::move(stop)).get();
}

Locker& Client::checked() const {
  if (!locker_) throw LockError(moved_from());
  return *locker_;
}

std::shared_ptr<internal::Loop> Client::loop() const { return checked().shared_loop(); }

Async<Result<Lease>> Client::async_adopt(const Handle& handle, const LockOptions& options) {
  return begun(locker_, [&](Locker& locker) { return locker.adopt(handle.hold(), options); });
}

Async<Result<void>> Client::async_renew(const Handle& handle) {
  return begun(locker_, [&](Locker& locker) { return locker.renew_detached(handle.hold()); });
}

Async<Result<void>> Client::async_release(const Handle& handle) {
  return begun(locker_, [&](Locker& locker) { return locker.release_detached(handle.hold()); });
}

Async<Result<void>> Client::async_ping() {
  return begun(locker_, [](Locker& locker) { return holdfast::ping(locker); });
}

Async<Result<Examination>> Client::async_examine() {
  return begun(locker_, [](Locker& locker) { return holdfast::examine(locker); });
}

Async<Result<std::vector<LockInfo>>> Client::async_list(const std::string& prefix) {
  return begun(locker_, [&](Locker& locker) { return holdfast::list(locker, prefix); });
}

Async<Result<LockInfo>> Client::async_inspect(const Name& name) {
  return begun(locker_, [&](Locker& locker) { return holdfast::inspect(locker, name); });
}

Async<Result<void>> Client::async_evict(const Name& name, Token expected) {
  return begun(locker_, [&](Locker& locker) { return holdfast::evict(locker, name, expected); });
}

Result<Lease> Client::adopt(const Handle& handle, const LockOptions& options) {
  return async_adopt(handle, options).get();
}
Result<void> Client::renew(const Handle& handle) { return async_renew(handle).get(); }
Result<void> Client::release(const Handle& handle) { return async_release(handle).get(); }
Result<void> Client::ping() { return async_ping().get(); }
Result<Examination> Client::examine() { return async_examine().get(); }
Result<std::vector<LockInfo>> Client::list(const std::string& prefix) {
  return async_list(prefix).get();
}
Result<LockInfo> Client::inspect(const Name& name) { return async_inspect(name).get(); }
Result<void> Client::evict(const Name& name, Token expected) {
  return async_evict(name, expected).get();
}

const Guarantees& Client::guarantees() const { return checked().engine().guarantees(); }
int Client::liveness_descriptor() const { return checked().engine().liveness_descriptor(); }

void Client::run(Task<void> task) {
  checked();
  const std::shared_ptr<Locker> keep = locker_;  // The task may destroy this client.
  keep->loop().block_on(std::move(task));
}

}  // namespace holdfast
