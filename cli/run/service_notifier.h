// ServiceNotifier: tells the service manager how far a run is, as sd_notify(3) does, without its library.
//
//   while it waits          STATUS=waiting for 'x', held by …
//   when the lock is held   READY=1, STATUS=holds 'x' (token 7)
//   when the command ends   STOPPING=1
//
// Nothing is told where no service manager listens. A value: copies tell the same one.
// Thread safety: tell() from any thread.
#pragma once

#include <string>

namespace holdfast::cli {

class ServiceNotifier {
 public:
  ServiceNotifier() = default;  // tells nobody
  // To the socket that NOTIFY_SOCKET names. Removes the variable, so that the command does not speak for us.
  // REQUIRES: one thread.
  static ServiceNotifier from_environment();

  explicit operator bool() const { return !address_.empty(); }
  // False if it was not delivered: nobody listens any more, or not within a second.
  bool tell(const std::string& lines) const { return send(lines, 0); }
  // For what is not worth waiting for.
  bool try_tell(const std::string& lines) const;

 private:
  bool send(const std::string& lines, int flags) const;
  std::string address_;  // a path, or @ and an abstract name
};

}  // namespace holdfast::cli
