#include "engines/table/connection_pool.h"

#include <algorithm>

#include "base/failures.h"

namespace holdfast::internal::table {

namespace {

// A burst of calls may need many; an hour later they should not be open still.
constexpr Duration kKeepIdle = std::chrono::seconds(20);

}  // namespace

ConnectionPool::ConnectionPool(Runtime& runtime, Open open, std::size_t most, std::string whom)
    : runtime_(runtime),
      open_(std::move(open)),
      most_(most),
      whom_(std::move(whom)),
      reopening_(runtime, [this] { return open_one(); }, [this] { on_failed_opening(); }) {}

ConnectionPool::~ConnectionPool() { close(); }

ConnectionPool::Loan::~Loan() {
  if (connection_) pool_->give_back(std::move(connection_), !in_transaction_, releases_);
}

bool ConnectionPool::admits(Urgency urgency) const {
  return urgency == Urgency::release ? in_use() <= most_ : calls_ < most_ && in_use() <= most_;
}

void ConnectionPool::count(bool release, int change) {
  (release ? releases_ : calls_) += static_cast<std::size_t>(change);
}

Task<Result<ConnectionPool::Loan>> ConnectionPool::take(Deadline deadline, std::stop_token stop,
                                                        Urgency urgency) {
  const bool release = urgency == Urgency::release;
  while (!idle_.empty() && admits(urgency)) {
    std::unique_ptr<SqlConnection> connection = std::move(idle_.back().connection);
    idle_.pop_back();
    if (!connection->connected()) continue;
    count(release, 1);
    co_return Loan(*this, std::move(connection), release);
  }
  // Leaves the queue also when this coroutine is destroyed, and passes on what it was given.
  struct Queued : Waiter {
    Queued(ConnectionPool& the_pool, Urgency its_urgency)
        : Waiter(the_pool.runtime_, its_urgency), pool(the_pool) {
      const auto after_us = [&](const Waiter* each) { return each->urgency < urgency; };
      place =
          pool.queue_.insert(std::find_if(pool.queue_.begin(), pool.queue_.end(), after_us), this);
    }
    ~Queued() {
      if (!served.is_set()) pool.queue_.erase(place);
      if (connection) {
        pool.give_back(std::move(connection), true, urgency == Urgency::release);
      }
    }
    ConnectionPool& pool;
    std::list<Waiter*>::iterator place;
  };
  Queued self(*this, urgency);
  open_if_needed();
  const Woken woken = co_await self.served.wait(deadline, stop);
  if (self.connection) open_if_needed();  // The next in line need not wait until we are done.
  if (self.connection) co_return Loan(*this, std::move(self.connection), release);
  if (self.failure) co_return *self.failure;
  if (woken == Woken::cancelled) co_return cancelled_by_caller();
  co_return Failure(
      Code::unreachable,
      whom_ + (reopening_.under_way() ? ": no connection in time"
                                      : ": no connection came free in time; the option connections "
                                        "allows " +
                                            std::to_string(most_)));
}

void ConnectionPool::open_if_needed() {
  if (queue_.empty() || reopening_.under_way()) return;
  if (idle_.empty() && admits(queue_.front()->urgency)) reopening_.begin();
}

Task<Result<void>> ConnectionPool::open_one() {
  Result<std::unique_ptr<SqlConnection>> opened = co_await open_();
  if (!opened) co_return opened.failure();
  keep(std::move(opened).value());
  co_return Result<void>();
}

void ConnectionPool::on_failed_opening() {
  // Those who wait may still get one that is in use.
  if (in_use() > 0) return;
  const Failure why = reopening_.last().failure();
  for (Waiter* waiter : std::exchange(queue_, {})) {
    waiter->failure = why;
    waiter->served.set();
  }
}

void ConnectionPool::give_back(std::unique_ptr<SqlConnection> connection, bool sound,
                               bool release) {
  count(release, -1);
  if (sound && connection->connected()) {
    keep(std::move(connection));
  } else {
    connection.reset();
    serve();
  }
}

void ConnectionPool::keep(std::unique_ptr<SqlConnection> connection) {
  idle_.push_back({std::move(connection), runtime_.now()});
  serve();
}

void ConnectionPool::serve() {
  while (!idle_.empty() && !queue_.empty() && admits(queue_.front()->urgency)) {
    std::unique_ptr<SqlConnection> connection = std::move(idle_.back().connection);
    idle_.pop_back();
    if (!connection->connected()) continue;
    Waiter* next = queue_.front();
    queue_.pop_front();
    count(next->urgency == Urgency::release, 1);
    next->connection = std::move(connection);
    next->served.set();
  }
  open_if_needed();
  close_unneeded();
}

void ConnectionPool::close_unneeded() {
  while (idle_.size() > 1 && runtime_.now() - idle_.front().since > kKeepIdle) {
    idle_.erase(idle_.begin());
  }
}

void ConnectionPool::close() {
  reopening_.abandon();
  idle_.clear();
}

}  // namespace holdfast::internal::table
