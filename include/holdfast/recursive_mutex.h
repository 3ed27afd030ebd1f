// RecursiveMutex: a mutex that the thread which holds it can lock again; it is free when it was
// unlocked as often. Re-entry costs no request and keeps the fencing token.
//
// If the lock is lost while it is held, re-entry fails (LockError, not_held) rather than continue
// with a second token under the first critical section.
//
// A coroutine or a chain of callbacks has no thread of its own. There an Owner holds the lock, an address that is the
// caller's alone while it holds or waits: of its session, its request, a variable of its coroutine.
//
//   const auto token = co_await mutex.async_lock(&session);   // again at once, if this session holds it
//   …
//   co_await mutex.async_unlock(&session);                    // the last one gives it back
//
// One owner's calls follow one another, as those of a thread do. Thread safety: all of it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "holdfast/export.h"
#include "holdfast/lock_request.h"

namespace holdfast {

class HOLDFAST_API RecursiveMutex {
 public:
  explicit RecursiveMutex(LockRequest request);
  ~RecursiveMutex();
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;

  const Name& name() const { return request_.name(); }

  // TimedLockable, as Mutex.
  void lock();
  bool try_lock();
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return reenter() || enter(request_.try_acquire_for(internal::to_patience(patience)));
  }
  template <class Clock, class D>
  bool try_lock_until(const std::chrono::time_point<Clock, D>& moment) {
    return reenter() || enter(request_.try_acquire_until(moment));
  }
  void unlock() noexcept;

  // Of this thread's hold; without one: 0, 0, false and a token that never stops.
  std::size_t depth() const;
  Token token() const;
  bool held() const;
  std::stop_token lost() const;

  // The asynchronous forms. Result: the token of the hold, the same when it is entered again. not_held if the lock was
  // lost meanwhile, and is to be unlocked as often as it was locked.
  using Owner = const void*;
  Async<Result<Token>> async_lock(Owner owner, std::stop_token stop = {});
  Async<Result<Token>> async_try_lock(Owner owner);
  Async<Result<Token>> async_try_lock_for(Owner owner, Duration patience,
                                          std::stop_token stop = {});
  // The last of an owner's releases: its outcome is that of Lease::release(). not_held if the owner holds nothing.
  Async<Result<void>> async_unlock(Owner owner);

  std::size_t depth(Owner owner) const;
  Token token(Owner owner) const;
  bool held(Owner owner) const;
  std::stop_token lost(Owner owner) const;

 private:
  // A thread, or an address.
  using Key = std::pair<std::thread::id, Owner>;
  struct Entry {
    Lease lease;
    std::size_t depth = 0;
  };
  // Needed by operations that are under way, too.
  struct State {
    std::mutex mutex;
    std::map<Key, Entry> entries;
  };
  static Key this_thread() { return {std::this_thread::get_id(), nullptr}; }
  static Key key_of(Owner owner) { return {std::thread::id(), owner}; }
  // Nothing: there is no entry yet.
  static std::optional<Result<Token>> reentered(State& state, const Key& key, const Name& name);
  static Task<Result<Token>> lock_owned(std::shared_ptr<State> state, Key key, Name name,
                                        Task<Result<Lease>> acquire);
  static Task<Result<void>> unlock_owned(std::shared_ptr<State> state, Key key, Name name);
  Async<Result<Token>> begin(Owner owner, Wait wait);
  bool reenter();
  bool enter(Result<Lease> lease);
  const Entry* find(const Key& key) const;

  LockRequest request_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace holdfast
