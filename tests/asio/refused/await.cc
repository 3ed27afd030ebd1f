// Must not compile: an Async is awaited in an asio::awaitable, and asio.h is not included. The error says what to write.
#include <asio.hpp>

#include "holdfast/holdfast.h"

asio::awaitable<void> work(holdfast::Mutex& mutex) {
  auto lease = co_await mutex.async_acquire();
  static_cast<void>(lease);
}
