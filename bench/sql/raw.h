// Raw: what a program without Holdfast does on one connection, with the same client library: the bare
// statements of one way to lock. It draws no token, and nothing ends a holder that froze.
//
//   kind    acquire                                      release
//   named   GET_LOCK, pg_advisory_lock                   RELEASE_LOCK, pg_advisory_unlock
//   row     BEGIN, SELECT … FOR UPDATE                   COMMIT
//   table   an upsert that takes the row if it is free   an update that frees it
//   poll    INSERT, once a millisecond until it goes     DELETE
//
// Thread safety: none.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace holdfast::bench {

// All calls throw std::runtime_error when the connection fails or the server refuses.
class Raw {
 public:
  virtual ~Raw() = default;

  // Makes what the lock needs: its table, its row.
  virtual void prepare(const std::string& name) = 0;
  // Waits, except `table`, which fails if it is not free.
  virtual void acquire(const std::string& name) = 0;
  virtual void release(const std::string& name) = 0;
  // SELECT 1.
  virtual void ping() = 0;
};

using MakeRaw = std::function<std::unique_ptr<Raw>(const std::string& kind, int port)>;

}  // namespace holdfast::bench
