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
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "holdfast/export.h"
#include "holdfast/ids.h"
#include "holdfast/result.h"

namespace holdfast {

// The check for a resource of yours. Any number of threads, gate objects and processes on one
// machine may open the same gate; only one of them is inside at a time. The mark must be on a local
// file system: other machines' locks are not seen on a network one. Thread safety: all of it.
//
// After a fork the child may use a gate as its parent does; a Pass stays with the parent. A gate in
// SQLite knows one exception: no thread may be calling it at the moment of the fork.
//
//   auto gate = FenceGate::in_file("/var/lib/app/ledger.fence").value();
//   auto pass = gate.enter(token);        // for reads and for writes
//   if (!pass) return pass.failure();     // stale_token: somebody newer has been here
//   … read or write the resource …        // the gate stays shut for others until `pass` ends
class HOLDFAST_API FenceGate {
 public:
  // The high-water mark in a small file of its own (created, owner-only; its directory must be
  // writable). misconfigured if the file is corrupt: never taken for a new one.
  static Result<FenceGate> in_file(const std::filesystem::path& file);
  // The mark of `resource` (1 to 16384 bytes) in table holdfast_fence of a SQLite database (both
  // created, owner-only). Who is inside holds no transaction, so the resource may well be a table
  // of the same database; but enter() before your own transaction begins, or it finds the
  // database locked.
  static Result<FenceGate> in_sqlite(const std::filesystem::path& database,
                                     std::string_view resource);

  FenceGate(FenceGate&&) noexcept;
  FenceGate& operator=(FenceGate&&) noexcept;
  ~FenceGate();

  // The right to touch the resource. Nobody else is inside while it lives: keep it for one
  // operation, not for a lease. It may outlive the gate object and end on another thread; a killed
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

  // Waits until nobody is inside, then admits `token` if it is not lower than the highest ever
  // admitted; the new mark is on disk before this returns. stale_token otherwise, and nothing
  // changes. Token 0 means "no token" and is refused (invalid_argument).
  Result<Pass> enter(Token token);

  // The highest token ever admitted; 0 if none. Does not wait for whoever is inside.
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

  // The content; empty if the file does not exist yet. Raises the mark to `token`.
  Result<std::string> read(Token token);
  // The new file keeps the old one's permissions (0600 if there was none), and its owner if this
  // process may give files away. On failure the old content stays; `unknown` if it was replaced but
  // could not be flushed. The space for old and new content is needed at the same time.
  Result<void> replace(Token token, std::string_view content);

 private:
  FencedFile(std::filesystem::path path, FenceGate gate)
      : path_(std::move(path)), gate_(std::move(gate)) {}
  std::filesystem::path path_;
  FenceGate gate_;
};

}  // namespace holdfast
