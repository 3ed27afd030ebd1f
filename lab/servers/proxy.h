// Proxy: a TCP proxy on 127.0.0.1 between a client and a server that fails on command.
//
//   mode    bytes that arrive                  on the way to the receiver
//   pass    delivered at once                  also those that were kept before
//   delay   delivered after the given time     in order
//   hold    kept                               until another mode
//   drop    swallowed                          those that were kept are lost, too
//
// The end of a stream waits behind the bytes before it; drop keeps it, as hold does. Each direction
// has its own mode, for all connections, those to come included.
//
// Thread safety: any thread. When a method returns, what it says is in force.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::test {

enum class Direction { to_server, to_client };
enum class ProxyMode { pass, delay, hold, drop };

class Proxy {
 public:
  // Passes. If the upstream refuses, the client is connected first and reset then.
  explicit Proxy(int upstream_port);
  // To a server somewhere else. Throws std::runtime_error if the name has no address.
  Proxy(const std::string& host, int upstream_port);
  ~Proxy();  // closes all connections
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const;

  void set(Direction direction, ProxyMode mode,
           std::chrono::milliseconds delay = std::chrono::milliseconds(0));
  void set_both(ProxyMode mode, std::chrono::milliseconds delay = std::chrono::milliseconds(0));

  // Ends all connections at both sides with RST. Bytes that were held back are lost.
  void reset();
  // While true, who connects gets ECONNREFUSED. Connections that exist are not touched.
  void refuse(bool refused);
  // Half-open: the connections that exist are never read or written again, nor closed before
  // reset() or the destructor. New connections work. For a partition that heals, use silence().
  void cut();
  // While true, no sign of life passes either way: no bytes, no FIN, no RST, no refusal. A peer that
  // closes or crashes is not heard of, and new connections are neither accepted nor refused (the
  // kernel takes them into its backlog). Afterwards everything is delivered, in order and late, as
  // TCP does after a partition. It sets the mode of both directions: hold, then pass.
  void silence(bool silent);
  // From now on new connections lead to this port of 127.0.0.1: a failover behind one address.
  // Existing ones end with RST.
  void lead_to(int upstream_port);
  // From now on what arrives in this direction goes through `change`, on the proxy's thread; in the pieces in
  // which it is read. Nullptr: no more.
  void alter(Direction direction, std::function<void(std::string& bytes)> change);
  // Sends bytes to all clients whose connection is not cut, whatever the mode, ahead of what waits.
  void inject(const std::string& bytes);

  int connections() const;        // open ones, those that are cut included
  std::int64_t accepted() const;  // since the beginning
  // Bytes that came from the sender, dropped ones included, and bytes that were handed on.
  std::int64_t received(Direction direction) const;
  std::int64_t delivered(Direction direction) const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace holdfast::test
