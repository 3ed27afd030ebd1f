// Client: a connection to one engine, and the maker of locks on it.
//
//   auto client = holdfast::Client::open("sqlite:///var/lib/app/locks.db").value();
//   auto mutex = client.mutex("nightly-report");
//   if (auto lease = mutex.try_acquire_for(10s)) { … lease->token() … }
//
// Thread safety: all of it. Locks and leases keep what they need of the client alive. A client
// does not survive fork(): the child gets Code::forked from every call and must open its own (on
// the embedded engine: after exec(), or with no client open in the parent when it forked).
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/election.h"
#include "holdfast/engine.h"
#include "holdfast/examination.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/multi_lock.h"
#include "holdfast/mutex.h"
#include "holdfast/once.h"
#include "holdfast/options.h"
#include "holdfast/recursive_mutex.h"
#include "holdfast/semaphore.h"
#include "holdfast/shared_mutex.h"

namespace holdfast {

class HOLDFAST_API Client {
 public:
  // `url` names the engine: "sqlite:///path/to/file". Empty: the embedded engine in the user's
  // state directory (see default_url()). Passwords in it never appear in messages. A server is
  // connected to when it is first needed: open() does not say whether it is there; see ping().
  static Result<Client> open(std::string_view url = {}, ClientOptions options = {});

  // A client over an engine of your own.
  using EngineFactory = std::function<Result<std::unique_ptr<Engine>>(Runtime&)>;
  static Result<Client> over(const EngineFactory& factory, ClientOptions options = {});

  // $XDG_STATE_HOME/holdfast/locks.db, else ~/.local/state/holdfast/locks.db, as a URL.
  static Result<std::string> default_url();
  // The engines built into this library, with their guarantees and an example URL each.
  struct BuiltIn {
    Guarantees guarantees;
    std::string example_url;
  };
  static std::vector<BuiltIn> engines();
  // The statements that make the tables which a URL's locks need, for an administrator who lets no
  // program create tables. Empty where there are none to make. Connects to nothing.
  static Result<std::vector<std::string>> schema(std::string_view url);

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // All of these throw LockError if the name or the options are invalid, or if the engine cannot
  // give what the options require. Nothing is sent to the engine yet.
  Mutex mutex(const Name& name, const LockOptions& options = {});
  SharedMutex shared_mutex(const Name& name, const LockOptions& options = {});
  Semaphore semaphore(const Name& name, std::uint32_t permits, const LockOptions& options = {});
  RecursiveMutex recursive_mutex(const Name& name, const LockOptions& options = {});
  MultiLock multi_lock(std::vector<Name> names, const LockOptions& options = {});
  Election election(const Name& name, const LockOptions& options = {});
  Result<MultiLease> acquire_all(std::vector<Name> names, const LockOptions& options = {},
                                 std::stop_token stop = {});
  Async<Result<MultiLease>> async_acquire_all(std::vector<Name> names,
                                              const LockOptions& options = {},
                                              std::stop_token stop = {});

  // A job that is done once per period, on any number of machines: once.h.
  Once once(const Name& name, const Period& period, const OnceOptions& options = {});
  // The last run of a job; none if there is no record of one.
  Result<std::optional<Job>> job(const Name& name);
  // Jobs whose names begin with `prefix`, sorted by name.
  Result<std::vector<StoredJob>> jobs(const std::string& prefix = {});
  // Removes the record of a job, whatever it is: the job is due again. False if there was none.
  Result<bool> forget_job(const Name& name);

  // Takes over a detached hold, here or in another process: from now on this client renews it.
  // not_held if it has expired or was released meanwhile.
  Result<Lease> adopt(const Handle& handle, const LockOptions& options = {});
  Async<Result<Lease>> async_adopt(const Handle& handle, const LockOptions& options = {});
  // Renews, or releases, a detached hold without adopting it.
  Result<void> renew(const Handle& handle);
  Result<void> release(const Handle& handle);
  Async<Result<void>> async_renew(const Handle& handle);
  Async<Result<void>> async_release(const Handle& handle);

  // Asks the server now, and takes no lock: unreachable if it does not answer within
  // ClientOptions::request_timeout, misconfigured if it refuses us (password, role, missing tables).
  Result<void> ping();
  Async<Result<void>> async_ping();

  // Asks the server what it is, what it is set to, and what that means for locks (examination.h); takes no lock.
  // unreachable if it does not answer in time. A server that is unfit is an answer, not a failure.
  Result<Examination> examine();
  Async<Result<Examination>> async_examine();

  Result<std::vector<LockInfo>> list(const std::string& prefix = {});
  Async<Result<std::vector<LockInfo>>> async_list(const std::string& prefix = {});
  Result<LockInfo> inspect(const Name& name);
  Async<Result<LockInfo>> async_inspect(const Name& name);
  // Takes the lock away from the holder with exactly this token. The holder learns of it at its
  // next renewal; only a fence protects the resource meanwhile.
  Result<void> evict(const Name& name, Token expected);
  Async<Result<void>> async_evict(const Name& name, Token expected);

  // Those of the engine; from the first answer of a server on, those of that server, lowered where it must be. A
  // server is connected to when it is first needed: examine() does it now.
  const Guarantees& guarantees() const;
  int liveness_descriptor() const;  // see Engine::liveness_descriptor

  // Runs a coroutine inside the client's loop, to its end, on this thread. Inside, `co_await
  // mutex.async_acquire()` costs no thread hop; blocking calls fail with would_deadlock.
  void run(Task<void> task);
  // The same as an Async: `task` begins when that is used. An exception of the task's is Code::unknown.
  template <class T>
  Async<Result<T>> async_run(Task<Result<T>> task) {
    return {loop(), std::move(task)};
  }

 private:
  friend class TestWorld;
  explicit Client(std::shared_ptr<internal::Locker> locker);
  internal::Locker& checked() const;             // LockError (closed) if it was moved from
  std::shared_ptr<internal::Loop> loop() const;  // the same
  LockRequest request(const Name& name, Mode mode, std::uint32_t permits,
                      const LockOptions& options);

  std::shared_ptr<internal::Locker> locker_;
};

}  // namespace holdfast
