#include "holdfast/recursive_mutex.h"

namespace holdfast {

RecursiveMutex::RecursiveMutex(LockRequest request) : request_(std::move(request)) {}
RecursiveMutex::~RecursiveMutex() = default;

// In a forked child the entries are the parent's, and one of its threads may have locked mutex_.

bool RecursiveMutex::reenter() {
  if (request_.forked()) return false;  // The request says so.
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(std::this_thread::get_id());
  if (found == entries_.end()) return false;
  if (!found->second.lease.held()) {
    throw LockError(Failure(Code::not_held, "the lock '" + name().display() +
                                                "' was lost while this thread held it; unlock it "
                                                "everywhere before you lock it again"));
  }
  ++found->second.depth;
  return true;
}

bool RecursiveMutex::enter(Result<Lease> lease) {
  if (!lease && lease.code() == Code::busy) return false;
  Lease granted = std::move(lease).value();
  const std::lock_guard lock(mutex_);
  entries_[std::this_thread::get_id()] = Entry{std::move(granted), 1};
  return true;
}

void RecursiveMutex::lock() {
  if (!reenter()) enter(request_.acquire());
}

bool RecursiveMutex::try_lock() { return reenter() || enter(request_.try_acquire()); }

void RecursiveMutex::unlock() noexcept {
  if (request_.forked()) return;
  Lease released;  // Destroyed, and so released, after the mutex is free.
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(std::this_thread::get_id());
  if (found == entries_.end() || --found->second.depth > 0) return;
  released = std::move(found->second.lease);
  entries_.erase(found);
}

const RecursiveMutex::Entry* RecursiveMutex::mine() const {
  if (request_.forked()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(std::this_thread::get_id());
  return found == entries_.end() ? nullptr : &found->second;
}

std::size_t RecursiveMutex::depth() const {
  const Entry* entry = mine();
  return entry ? entry->depth : 0;
}

Token RecursiveMutex::token() const {
  const Entry* entry = mine();
  return entry ? entry->lease.token() : Token();
}

bool RecursiveMutex::held() const {
  const Entry* entry = mine();
  return entry && entry->lease.held();
}

std::stop_token RecursiveMutex::lost() const {
  const Entry* entry = mine();
  return entry ? entry->lease.lost() : std::stop_token();
}

}  // namespace holdfast
