// Observer: hears of everything that happens to a client's locks; feeds metrics, logs, dashboards
// and the checker. Calls come inside the client's loop, in the order in which things happened:
// keep them short, do not call Holdfast from them, do not throw.
#pragma once

#include <optional>
#include <string>

#include "holdfast/engine.h"
#include "holdfast/export.h"
#include "holdfast/result.h"

namespace holdfast {

// What happens on the way to a server, apart from any one lock.
enum class ServerEventKind {
  connected,        // for the first time
  reconnected,      // again, after a connection to this server had ended or could not be made
  disconnected,     // a connection ended that was not closed by us
  connect_failed,   // will be tried again when it is needed
  error,            // the server refused a request with an error of its own, or answered nonsense
};

struct ServerEvent {
  ServerEventKind kind = ServerEventKind::connected;
  std::string server;              // "127.0.0.1:6379", a socket's path, or a file; without secrets
  std::optional<Failure> why{};  // of all but connected and reconnected
};

// "connected", "connect_failed": stable.
HOLDFAST_API const char* server_event_name(ServerEventKind kind);

class HOLDFAST_API Observer {
 public:
  virtual ~Observer() = default;

  // Each on_wait is followed by one on_granted or one on_refused with the same Claim::call.
  virtual void on_wait(const Claim&) {}                              // a call has begun
  virtual void on_retry(const Claim&, const Failure&) {}             // will be asked again soon
  virtual void on_granted(const Hold&, BootTime /*valid_until*/) {}  // it ended with a lease
  virtual void on_refused(const Claim&, const Failure&) {}           // it ended without
  virtual void on_renewed(const Hold&, BootTime /*valid_until*/) {}  //
  virtual void on_renewal_failed(const Hold&, const Failure&) {}     // will be tried again
  virtual void on_lost(const Hold&, BootTime /*valid_until*/) {}     // lost() is being triggered
  virtual void on_released(const Hold&, const Result<bool>& /*how*/) {}

  // Of connections and servers; not of a request that a lock's own calls tell about as well.
  virtual void on_server(const ServerEvent&) {}

  // The engine found something that endangers its locks; for a person to read. At most a few.
  // One line, safe to print.
  virtual void on_warning(const std::string& /*text*/) {}
};

}  // namespace holdfast
