#include "holdfast/recursive_mutex.h"

#include "lease/locker.h"

namespace holdfast {

namespace {

Failure not_held(const Name& name, const char* what) {
  return Failure(Code::not_held, "the lock '" + name.display() + "' " + what);
}

}  // namespace

RecursiveMutex::RecursiveMutex(LockRequest request) : request_(std::move(request)) {}
RecursiveMutex::~RecursiveMutex() = default;

// In a forked child the entries are the parent's, and one of its threads may have locked the mutex.

std::optional<Result<Token>> RecursiveMutex::reentered(State& state, const Key& key,
                                                       const Name& name) {
  const std::lock_guard lock(state.mutex);
  const auto found = state.entries.find(key);
  if (found == state.entries.end()) return std::nullopt;
  Entry& entry = found->second;
  if (!entry.lease.held()) {
    return not_held(name,
                    "was lost while it was held; unlock it everywhere before you lock it again");
  }
  ++entry.depth;
  return entry.lease.token();
}

// ---- By threads --------------------------------------------------------------------------------

bool RecursiveMutex::reenter() {
  if (request_.forked()) return false;  // The request says so.
  const std::optional<Result<Token>> entered = reentered(*state_, this_thread(), name());
  if (entered) static_cast<void>(entered->value());
  return entered.has_value();
}

bool RecursiveMutex::enter(Result<Lease> lease) {
  if (!lease && lease.code() == Code::busy) return false;
  Lease granted = std::move(lease).value();
  const std::lock_guard lock(state_->mutex);
  state_->entries[this_thread()] = Entry{std::move(granted), 1};
  return true;
}

void RecursiveMutex::lock() {
  if (!reenter()) enter(request_.acquire());
}

bool RecursiveMutex::try_lock() { return reenter() || enter(request_.try_acquire()); }

void RecursiveMutex::unlock() noexcept {
  if (request_.forked()) return;
  Lease released;  // Destroyed, and so released, after the mutex is free.
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->entries.find(this_thread());
  if (found == state_->entries.end() || --found->second.depth > 0) return;
  released = std::move(found->second.lease);
  state_->entries.erase(found);
}

// ---- By owners ---------------------------------------------------------------------------------

Task<Result<Token>> RecursiveMutex::lock_owned(std::shared_ptr<State> state, Key key, Name name,
                                               Task<Result<Lease>> acquire) {
  if (auto entered = reentered(*state, key, name)) co_return *std::move(entered);
  Result<Lease> lease = co_await std::move(acquire);
  if (!lease) co_return lease.failure();
  const Token token = lease->token();
  const std::lock_guard lock(state->mutex);
  const bool first = state->entries.try_emplace(key, Entry{std::move(*lease), 1}).second;
  if (!first) {
    co_return Failure(Code::invalid_argument, "two calls of one owner locked '" + name.display() +
                                                  "' at the same time; let one follow the other");
  }
  co_return token;
}

Task<Result<void>> RecursiveMutex::unlock_owned(std::shared_ptr<State> state, Key key, Name name) {
  Lease released;
  {
    const std::lock_guard lock(state->mutex);
    const auto found = state->entries.find(key);
    if (found == state->entries.end()) co_return not_held(name, "is not held by this owner");
    if (--found->second.depth > 0) co_return Result<void>();
    released = std::move(found->second.lease);
    state->entries.erase(found);
  }
  co_return co_await released.async_release();
}

Async<Result<Token>> RecursiveMutex::begin(Owner owner, Wait wait) {
  return internal::stoppable(
      request_.checked().shared_loop(), wait.stop, [&](std::stop_token stop) {
        auto acquire = request_.task(
            Wait{.deadline = wait.deadline, .queue = wait.queue, .stop = std::move(stop)});
        return lock_owned(state_, key_of(owner), name(), std::move(acquire));
      });
}

Async<Result<Token>> RecursiveMutex::async_lock(Owner owner, std::stop_token stop) {
  return begin(owner, Wait{.stop = std::move(stop)});
}

Async<Result<Token>> RecursiveMutex::async_try_lock(Owner owner) {
  return begin(owner, Wait{.deadline = request_.checked().request_deadline(), .queue = false});
}

Async<Result<Token>> RecursiveMutex::async_try_lock_for(Owner owner, Duration patience,
                                                        std::stop_token stop) {
  return begin(owner, Wait{.deadline = request_.deadline_after(patience), .stop = std::move(stop)});
}

Async<Result<void>> RecursiveMutex::async_unlock(Owner owner) {
  return {request_.checked().shared_loop(), unlock_owned(state_, key_of(owner), name())};
}

// ---- Looking -----------------------------------------------------------------------------------

const RecursiveMutex::Entry* RecursiveMutex::find(const Key& key) const {
  if (request_.forked()) return nullptr;
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->entries.find(key);
  return found == state_->entries.end() ? nullptr : &found->second;
}

std::size_t RecursiveMutex::depth() const {
  const Entry* entry = find(this_thread());
  return entry ? entry->depth : 0;
}

Token RecursiveMutex::token() const {
  const Entry* entry = find(this_thread());
  return entry ? entry->lease.token() : Token();
}

bool RecursiveMutex::held() const {
  const Entry* entry = find(this_thread());
  return entry && entry->lease.held();
}

std::stop_token RecursiveMutex::lost() const {
  const Entry* entry = find(this_thread());
  return entry ? entry->lease.lost() : std::stop_token();
}

std::size_t RecursiveMutex::depth(Owner owner) const {
  const Entry* entry = find(key_of(owner));
  return entry ? entry->depth : 0;
}

Token RecursiveMutex::token(Owner owner) const {
  const Entry* entry = find(key_of(owner));
  return entry ? entry->lease.token() : Token();
}

bool RecursiveMutex::held(Owner owner) const {
  const Entry* entry = find(key_of(owner));
  return entry && entry->lease.held();
}

std::stop_token RecursiveMutex::lost(Owner owner) const {
  const Entry* entry = find(key_of(owner));
  return entry ? entry->lease.lost() : std::stop_token();
}

}  // namespace holdfast
