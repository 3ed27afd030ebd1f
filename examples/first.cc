#include <chrono>
#include <iostream>

#include "holdfast/holdfast.h"

int main() {
  using namespace std::chrono_literals;

  auto client = holdfast::Client::open();  // or a URL: "sqlite:///path/to/locks.db"
  if (!client) {
    std::cerr << client.message() << '\n';
    return 1;
  }

  auto mutex = client->mutex("nightly-report");
  auto lease = mutex.try_acquire_for(10s);
  if (!lease) {  // Busy is an outcome, not an accident: the message says who holds it.
    std::cerr << lease.message() << '\n';
    return 1;
  }

  // The lock is ours, and renewed in the background, until the lease is released or lost.
  std::cout << "nightly-report is mine, token " << lease->token().str() << '\n';
  if (!lease->held()) return 1;  // Ask before each step that matters; lease->lost() tells at once.

  // Give the token to whatever you write to, so that it can refuse an older one: see fence.h.
  return lease->release().ok() ? 0 : 1;  // The destructor would release it as well.
}
