// The asynchronous forms: a coroutine inside the client's loop, and callbacks. One thread can keep
// hundreds of claims in flight this way, because a claim that waits blocks nobody.
#include <atomic>
#include <iostream>
#include <latch>

#include "holdfast/holdfast.h"

namespace {

constexpr int kClaims = 100;

// Awaitable. Inside Client::run() everything is awaited: a blocking call would be refused.
holdfast::Task<void> count_up(holdfast::Client& client, int& counter) {
  holdfast::Mutex mutex = client.mutex("async-example");
  for (int i = 0; i < kClaims; ++i) {
    holdfast::Result<holdfast::Lease> lease = co_await mutex.async_acquire();
    if (!lease) {
      std::cerr << lease.message() << '\n';
      co_return;
    }
    ++counter;
    holdfast::Result<void> released = co_await lease->async_release();
    if (!released) std::cerr << released.message() << '\n';
  }
}

// Callbacks. All claims are under way at once; each callback runs when its turn has come, on a
// thread of the client's, where it may block.
void count_up_by_callbacks(holdfast::Client& client, std::atomic<int>& counter) {
  holdfast::Mutex mutex = client.mutex("async-example");
  std::latch all_done(kClaims);
  for (int i = 0; i < kClaims; ++i) {
    mutex.async_acquire().then([&](holdfast::Result<holdfast::Lease> lease) {
      if (lease) {
        ++counter;
        if (auto released = lease->release(); !released) std::cerr << released.message() << '\n';
      } else {
        std::cerr << lease.message() << '\n';
      }
      all_done.count_down();
    });
  }
  all_done.wait();
}

}  // namespace

int main() {
  auto client = holdfast::Client::open();
  if (!client) {
    std::cerr << client.message() << '\n';
    return 1;
  }

  int awaited = 0;
  client->run(count_up(*client, awaited));
  std::cout << "coroutine: " << awaited << " locks taken and released, one after the other\n";

  std::atomic<int> called_back = 0;
  count_up_by_callbacks(*client, called_back);
  std::cout << "callbacks: " << called_back << " claims in flight at once, all served\n";

  return awaited == kClaims && called_back == kClaims ? 0 : 1;
}
