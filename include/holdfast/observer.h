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

// An event of a server, apart from any one lock. It is about the server: where several connections lead to it,
// the second one that opens, or ends, tells nothing new.
//
//   connected     a connection to it works, login included: the first one ever of this client
//   disconnected  a connection ended, or was given up because the server fell silent, spoke nonsense or has lost its
//                 office (a former master); not one that was done with, nor when the client is closed
//   connect_failed  a connection could not be made, or the login was refused; it is tried again when it is needed
//   reconnected   after one of these two: a connection works again
//   error         the server refused a request with an error of its own (no rights, out of memory, read-only), and the
//                 call failed by it; not for an ordinary outcome (busy, not_held), nor if another attempt got over it
//
// Between connected or reconnected and the next of its kind there is at least one disconnected or connect_failed.
// A server that is down is tried again and again, but the number of events is bounded: the same words about the same
// server at most every 10 s, and of one server at most 10 disconnected, connect_failed and error at once, then one a
// second.
//
// Engines: every server of its own, of Redlock, quorums and clusters each node, sentinels included. SQLite: the file;
// connected once it is open, connect_failed if it cannot be opened, disconnected when it was removed or replaced,
// error when it cannot be read or written. TestWorld has no servers, and tells nothing.
enum class ServerEventKind { connected, reconnected, disconnected, connect_failed, error };

struct ServerEvent {
  ServerEventKind kind = ServerEventKind::connected;
  // "127.0.0.1:6379", a socket's path, or a file; of several database servers that are one, for an error, all of them.
  // Without secrets; on one line, safe to print.
  std::string server;
  // Of all but connected and reconnected. Names the server and the reason; without secrets.
  std::optional<Failure> why{};
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

  // Of connections and servers. A lock's own call that fails for the same reason is told by its own function.
  virtual void on_server(const ServerEvent&) {}

  // The engine found something that endangers its locks; for a person to read. At most a few.
  // One line, safe to print.
  virtual void on_warning(const std::string& /*text*/) {}
};

}  // namespace holdfast
