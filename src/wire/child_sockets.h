// A socket whose connection is the lock must not be inherited by a forked child: the server would
// see the connection alive for as long as the child lives. Descriptors listed here are closed in every
// child, right after fork(). (What exec() runs is another matter: that is close-on-exec.)
//
// Thread safety: any thread.
#pragma once

namespace holdfast::internal {

// Keeps a descriptor on the list, for as long as it lives. It does not own it: end this before the
// descriptor is closed.
class ClosedInChild {
 public:
  explicit ClosedInChild(int descriptor);
  ~ClosedInChild();
  ClosedInChild(const ClosedInChild&) = delete;
  ClosedInChild& operator=(const ClosedInChild&) = delete;

 private:
  int descriptor_;
};

}  // namespace holdfast::internal
