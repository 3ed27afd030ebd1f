// Fences: the check of a token at the resource that the lock protects. No lock can stop a holder
// that was paused, or whose packet was delayed, from acting after its lease has ended; the
// resource can. It remembers the highest token it has seen and refuses anything lower.
//
//   lock service   33 ──► A            34 ──► B
//   A              read(33) ok … paused for a minute …………………………… write(33) ✗ stale_token
//   B                                  read(34) ok   write(34) ok
//
// Reads must be checked as well: a reader with a new token raises the mark, so that the old
// holder cannot write between the new holder's read and its write.
//
// Modes. A holder shows a Ticket: token and mode. The mark is two numbers, the highest exclusive
// token seen (X) and the highest of all (A):
//
//   exclusive t    admitted if t >= A, then X = A = t      refused after any later holder
//   shared t       admitted if t >= X, then A = max(A, t)  refused after any later writer
//
//   lock service   33, shared ──► A   34, shared ──► B        35, exclusive ──► C
//   A              read ok                       read ok … paused ……………………………… read ✗ stale_token
//   B                                 read ok
//   C                                                         write ok
//
//   the same token again     admitted, in its own mode as often as its holder likes
//   a reader below A         admitted if no later writer has been here; lowers nothing
//   a reader with t == X     the last writer, as a reader: admitted, for nobody has written since
//   a write, shared          a shared lease gives the right to read. Where the call says what it
//                            does (replace, set, erase) it is invalid_argument; a gate cannot see
//                            what you do inside, and two readers that write lose each other's
//                            updates.
//   a permit                 invalid_argument. Of N permits of a semaphore an old one may be valid
//                            after any number of newer grants, so no mark can tell a late holder
//                            from a valid one. Where that matters, use N mutexes instead.
//
// Files and SQLite are asked on the calling thread: they have no asynchronous form, because the system has none for
// them. In a program with an event loop, call them on a thread pool. RedisFence has both forms (redis_fence.h).
//
// Marks of earlier versions, which had one number, are read as X = A. Such a program may go on
// using the same mark: it sees A and takes every token for an exclusive one, and new programs count
// what it admits as such. No late holder is admitted by either, and no valid writer is refused;
// readers that are not the newest may be, as they always were, until all programs are new.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "holdfast/export.h"
#include "holdfast/ids.h"
#include "holdfast/result.h"
#include "holdfast/ticket.h"

namespace holdfast {

// The check for a resource of yours. Any number of threads, gate objects and processes on one
// machine may open the same gate; only one of them is inside at a time. The mark must be on a local
// file system: other machines' locks are not seen on a network one. Thread safety: all of it.
//
// After a fork the child may use a gate as its parent does; a Pass stays with the parent. A gate in
// SQLite knows one exception: no thread may be calling it at the moment of the fork.
//
//   auto gate = FenceGate::in_file("/var/lib/app/ledger.fence").value();
//   auto pass = gate.enter(lease);        // or gate.enter({token, mode}); for reads and for writes
//   if (!pass) return pass.failure();     // stale_token: somebody newer has been here
//   … read or write the resource …        // the gate stays shut for others until `pass` ends
class HOLDFAST_API FenceGate {
 public:
  // The mark in a small file of its own (created, owner-only; its directory must be
  // writable). misconfigured if the file is corrupt: never taken for a new one.
  static Result<FenceGate> in_file(const std::filesystem::path& file);
  // The mark of `resource` (1 to 16384 bytes) in tables holdfast_fence and holdfast_fence_writer
  // of a SQLite database (all created, owner-only). The holder of a Pass holds no transaction, so
  // the resource may well be a table of the same database; but enter() before your own transaction
  // begins, or it finds the database locked.
  static Result<FenceGate> in_sqlite(const std::filesystem::path& database,
                                     std::string_view resource);

  FenceGate(FenceGate&&) noexcept;
  FenceGate& operator=(FenceGate&&) noexcept;
  ~FenceGate();

  // The right to touch the resource; to read it only, if the ticket was shared. Nobody else is
  // inside while it lives, readers neither: keep it for one operation, not for a lease.
  // It may outlive the gate object and end on another thread; a killed
  // process leaves at once. A thread that enters a gate in which it already is waits for itself.
  class [[nodiscard]] HOLDFAST_API Pass {
   public:
    Pass(Pass&&) noexcept;
    Pass& operator=(Pass&&) noexcept;
    ~Pass();

   private:
    friend class FenceGate;
    struct Impl;
    explicit Pass(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
  };

  // Waits until nobody is inside, then admits the ticket by the rule above; the new mark is on disk
  // before this returns. stale_token if somebody newer has been here, and nothing changes. Token 0
  // means "no token" and is refused, as is a permit (invalid_argument).
  Result<Pass> enter(const Ticket& ticket);

  // The highest token ever admitted, whatever its mode; 0 if none. Does not wait for whoever is
  // inside.
  Result<Token> mark() const;

  struct Impl;

 private:
  explicit FenceGate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A file whose content is replaced only with a current token, atomically: a reader sees the old or
// the new content, never a mixture, also after a power cut. Programs that know nothing of fences
// may read it as they like; they must not write it. Thread safety: all of it.
class HOLDFAST_API FencedFile {
 public:
  // The gate is kept in "PATH.fence" beside the file; symbolic links are followed first, once. The
  // directory must exist and be writable, the file need not exist.
  static Result<FencedFile> open(const std::filesystem::path& path);

  // The content; empty if the file does not exist yet. Raises the mark, as every read must.
  Result<std::string> read(const Ticket& ticket);
  // The new file keeps the old one's permissions (0600 if there was none), and its owner if this
  // process may give files away. On failure the old content stays; `unknown` if it was replaced but
  // could not be flushed. The space for old and new content is needed at the same time. A shared
  // ticket is invalid_argument: it gives the right to read.
  Result<void> replace(const Ticket& ticket, std::string_view content);

 private:
  FencedFile(std::filesystem::path path, FenceGate gate)
      : path_(std::move(path)), gate_(std::move(gate)) {}
  std::filesystem::path path_;
  FenceGate gate_;
};

}  // namespace holdfast
