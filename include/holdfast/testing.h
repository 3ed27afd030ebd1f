// TestWorld: a lock server, its clients and their clock in the memory of a unit test. Code around a lock is tested in
// microseconds: no server, no real seconds, and faults at will.
//
//   holdfast::TestWorld world;
//   auto client = world.client();
//   auto lease = client.mutex("report").acquire().value();
//   world.server_down();
//   world.advance(30s);            // no renewal succeeds: lost() has fired, held() is false
//
// Its clients are whole clients: queue, tokens, renewal, loss and cleaning up are the code that ships; the server has
// every mode, records, and FIFO waiters. Recipes: docs/TESTING.md.
//
// The clock stands still until it is moved:
//  - advance() moves it, from one event to the next: leases are renewed, expire and are lost, timed waits end.
//  - When every thread that has used the world waits in a call, the clock moves by itself to the next event: nobody
//    else could move it. So try_acquire_for(5s) is busy at once in a test of one thread. A wait that nothing ends in a
//    day on the clock fails with would_deadlock. Where a thread that comes later is to end a wait: hold_clock().
//  - now() is that clock, and so are Lease::valid_until() and held(). BootClock::now() is not: it is real.
//
// Callbacks (lost(), then()) run one after another on a thread of the world's own.
//
// To test with real time, or where a program opens its client by URL: "memory:" has locks of its own, and all clients
// of the process share those of "memory:NAME".
//
// Thread safety: all of it. REQUIRES for all calls but now(): not inside a client's loop (LockError, would_deadlock); for
// advance(), the faults and await_waiting(): no callback waits for the calling thread.
#pragma once

#include <cstddef>
#include <memory>

#include "holdfast/client.h"
#include "holdfast/export.h"
#include "holdfast/options.h"
#include "holdfast/time.h"

namespace holdfast {

class HOLDFAST_API TestWorld {
 public:
  TestWorld();
  // Clients and leases that are left live on, on a clock that nobody advances.
  ~TestWorld();
  TestWorld(const TestWorld&) = delete;
  TestWorld& operator=(const TestWorld&) = delete;

  // A client of the world's server. Its label, unless given: "client 1", and so on.
  Client client(ClientOptions options = {});

  // ---- Time --------------------------------------------------------------------------------

  BootTime now() const;
  // Whatever comes due meanwhile happens at its moment; when this returns, callbacks that it started have ended, or
  // wait in a call. A thread whose call ended goes on beside it: where that matters, advance in smaller steps.
  void advance(Duration span);
  // As if the process had slept so long (suspended, stopped, starved): nothing happens meanwhile, no renewal either, and
  // all that came due does afterwards.
  void pause(Duration span);
  // True: the clock moves by advance() and pause() alone, also when everybody waits.
  void hold_clock(bool held = true);
  // Waits, in real time, until so many calls wait for a lock or for the clock. Before the test's thread does what shall
  // find others waiting.
  void await_waiting(std::size_t calls);

  // ---- Faults ------------------------------------------------------------------------------

  // The lock is taken away from all who hold it, or from this lease, and goes to the next who waits. Its lost() has
  // fired when this returns (if the server is down: when the lease ends). LockError (not_held) if nobody holds it.
  void lose(const Name& name);
  void lose(const Lease& lease);

  // The server answers no request, and keeps what it has: waiters their places, holders their time. Calls that wait
  // ask again as the clock moves; other calls are unreachable. Up again by itself after `span`, on the clock.
  void server_down();
  void server_down_for(Duration span);
  void server_up();

  // Of the next request of this kind, from any client. To the client both are unknown, and it cleans up:
  enum class Request { acquire, renew, release, record, other };
  void lose_request(Request kind);  // never arrives
  void lose_reply(Request kind);    // is executed, and its reply never arrives

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace holdfast
