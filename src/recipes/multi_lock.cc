#include "holdfast/multi_lock.h"

#include <algorithm>

namespace holdfast {

// Triggers one stop_source when the first of several leases is lost.
struct MultiLease::AnyLost {
  struct Trigger {
    std::stop_source source;
    void operator()() const {
      std::stop_source keep = source;  // A callback of the user's may destroy us.
      keep.request_stop();
    }
  };

  explicit AnyLost(const std::vector<Lease>& leases) {
    for (const Lease& lease : leases) {
      callbacks.push_back(
          std::make_unique<std::stop_callback<Trigger>>(lease.lost(), Trigger{source}));
    }
  }

  std::stop_source source;
  std::vector<std::unique_ptr<std::stop_callback<Trigger>>> callbacks;
};

MultiLease::MultiLease(std::vector<Lease> leases)
    : leases_(std::move(leases)), any_lost_(std::make_shared<AnyLost>(leases_)) {}

MultiLease& MultiLease::operator=(MultiLease&& other) noexcept {
  if (this != &other) {
    while (!leases_.empty()) leases_.pop_back();
    leases_ = std::move(other.leases_);
    any_lost_ = std::move(other.any_lost_);
    other.leases_.clear();
  }
  return *this;
}

MultiLease::~MultiLease() {
  while (!leases_.empty()) leases_.pop_back();  // In reverse, each within its own bound.
}

Token MultiLease::token(const Name& name) const {
  const auto place = std::find_if(leases_.begin(), leases_.end(),
                                  [&](const Lease& lease) { return lease.name() == name; });
  if (place == leases_.end()) {
    throw LockError(Failure(Code::not_held, "'" + name.display() + "' is not in this multi-lock"));
  }
  return place->token();
}

bool MultiLease::held() const noexcept {
  return !leases_.empty() &&
         std::all_of(leases_.begin(), leases_.end(), [](const Lease& one) { return one.held(); });
}

std::stop_token MultiLease::lost() const {
  return any_lost_ ? any_lost_->source.get_token() : std::stop_token();
}

Result<void> MultiLease::release() {
  Result<void> outcome;
  for (; !leases_.empty(); leases_.pop_back()) {
    Result<void> one = leases_.back().release();
    if (!one && outcome) outcome = one;
  }
  return outcome;
}

template <class Take>
Result<MultiLease> MultiLock::take_all(Take take) {
  std::vector<Lease> leases;
  for (LockRequest& request : requests_) {
    Result<Lease> lease = take(request);
    if (!lease) {
      while (!leases.empty()) leases.pop_back();
      return lease.failure();
    }
    leases.push_back(std::move(lease).value());
  }
  MultiLease all(std::move(leases));
  // Waiting for the last can take so long that the first is gone.
  if (all.held() || requests_.empty()) return all;
  return Failure(Code::not_held, "a lock was lost while waiting for the others; try again");
}

Result<MultiLease> MultiLock::acquire(std::stop_token stop) {
  return take_all([&](LockRequest& request) { return request.acquire(stop); });
}

Result<MultiLease> MultiLock::try_acquire() {
  return take_all([](LockRequest& request) { return request.try_acquire(); });
}

Result<MultiLease> MultiLock::try_acquire_for(Duration patience, std::stop_token stop) {
  if (requests_.empty()) return MultiLease();
  const Deadline deadline = requests_.front().deadline_after(patience);
  return take_all([&](LockRequest& request) { return request.acquire_by(deadline, stop); });
}

}  // namespace holdfast
