#include "wire/duplicate_watch.h"

#include <fcntl.h>

#include <cerrno>

#include "base/exhausted.h"

namespace holdfast::internal {

namespace {

Descriptor duplicate_of(int descriptor) {
  const int duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) throw LockError(exhausted("a connection cannot be watched", errno));
  return Descriptor(duplicate);
}

}  // namespace

DuplicateWatch::DuplicateWatch(Runtime& runtime, int descriptor, std::function<void()> on_readable)
    : duplicate_(duplicate_of(descriptor)),
      in_child_(duplicate_.number()),
      watch_(runtime, duplicate_.number(), std::move(on_readable), [this] {
        // The callback may destroy us, and the function that is running with us.
        const std::function<void()> then = std::exchange(on_writable_, nullptr);
        if (then) then();
      }) {}

void DuplicateWatch::when_writable(std::function<void()> then) {
  on_writable_ = std::move(then);
  watch_.await_writable();
}

}  // namespace holdfast::internal
