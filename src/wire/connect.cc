#include "wire/connect.h"

#include <algorithm>
#include <cerrno>
#include <list>
#include <optional>

#include "base/exhausted.h"

namespace holdfast::internal {

namespace {

// One address that is being tried.
class Attempt final : private Reactor::Handler {
 public:
  Attempt(Reactor& reactor, const Address& address, std::size_t which, Event& moved)
      : which_(which), moved_(moved) {
    // Closed on exec: a command that this process runs must not inherit the connection.
    socket_ = Descriptor(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_.valid()) {
      error_ = errno;
    } else if (::connect(socket_.number(), address.data(), address.size()) == 0) {
      error_ = 0;
    } else if (errno == EINPROGRESS || errno == EINTR) {
      watch_.emplace(reactor, socket_.number(), static_cast<Reactor::Handler&>(*this),
                     Reactor::Interest{.write = true});
    } else {
      error_ = errno;
    }
  }

  // Nothing as long as it is not decided; 0 if it is connected.
  std::optional<int> error() const { return error_; }
  Connected take() { return {std::move(socket_), which_}; }

 private:
  void on_writable() override {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    error_ = error;
    watch_.reset();
    moved_.set();
  }

  std::size_t which_;
  Event& moved_;
  Descriptor socket_;
  std::optional<Reactor::Registration> watch_;  // ends before the socket is closed
  std::optional<int> error_;
};

}  // namespace

Deadline share_of(Deadline deadline, BootTime now, std::size_t left) {
  if (deadline.is_never() || left <= 1) return deadline;
  return Deadline::at(now + (deadline.moment() - now) / static_cast<Duration::rep>(left));
}

Task<Result<std::vector<std::string>>> answering_first(RealRuntime& runtime,
                                                       std::vector<std::string> numbers,
                                                       std::uint16_t port, Deadline deadline) {
  std::vector<Address> addresses;
  for (const std::string& number : numbers) {
    if (const auto address = Address::of_number(number, port)) addresses.push_back(*address);
  }
  if (numbers.size() < 2 || addresses.size() < numbers.size()) co_return numbers;
  const Result<Connected> connected =
      co_await contained(connect_to_any(runtime, std::move(addresses), deadline));
  if (!connected) co_return connected.failure();
  const auto which = static_cast<std::ptrdiff_t>(connected->which);
  std::rotate(numbers.begin(), numbers.begin() + which, numbers.begin() + which + 1);
  co_return numbers;
}

Task<Result<Connected>> connect_to_any(RealRuntime& runtime, std::vector<Address> addresses,
                                       Deadline deadline) {
  Event moved(runtime);
  std::list<Attempt> attempts;
  std::size_t next = 0;
  BootTime next_at = runtime.now();
  int last_error = 0;
  for (;;) {
    if (next < addresses.size() && (attempts.empty() || runtime.now() >= next_at)) {
      attempts.emplace_back(runtime.reactor(), addresses[next], next, moved);
      ++next;
      // Not so long that the last of them would have no time left.
      const BootTime now = runtime.now();
      next_at =
          share_of(deadline, now, addresses.size() - next + 1).sooner(now + kHeadStart).moment();
    }
    for (auto attempt = attempts.begin(); attempt != attempts.end();) {
      if (attempt->error() == 0) co_return attempt->take();
      if (attempt->error()) {
        last_error = *attempt->error();
        next_at = runtime.now();
        attempt = attempts.erase(attempt);
      } else {
        ++attempt;
      }
    }
    const bool more = next < addresses.size();
    if (attempts.empty()) {
      if (more) continue;
      co_return Failure(Code::unreachable, describe_error(last_error));
    }
    moved.reset();
    const Woken woken = co_await moved.wait(more ? deadline.sooner(next_at) : deadline);
    if (woken == Woken::timed_out && deadline.passed(runtime.now())) {
      co_return Failure(Code::unreachable, "no answer in time");
    }
  }
}

}  // namespace holdfast::internal
