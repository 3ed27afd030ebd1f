// Where a gate keeps its mark, and how it keeps others out. FenceGate decides; these two interfaces
// are all that a new kind of storage has to provide.
//
// Every format keeps `newest` where programs without modes keep their one number, and `writer` so
// that it counts only together with the `newest` it was written with. Such a program then refuses
// whatever this one refuses (and readers that are not the newest, too), and when it raises its
// number, the old `writer` no longer counts: both are that number then.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "fence/mark.h"
#include "holdfast/result.h"

namespace holdfast::internal::fence {

// Being inside: no other thread, gate or process is, until this ends. It may outlive its store,
// but load() and store() are called only while the store lives.
class MarkSession {
 public:
  virtual ~MarkSession() = default;

  // The mark as everybody on this machine sees it now; perhaps not on disk yet, because its writer
  // may have been killed between the write and the flush.
  virtual Result<Mark> load() = 0;
  // Makes `mark` the mark; it is on disk when this returns, also if the mark was that already.
  // REQUIRES: neither number is below that of load().
  virtual Result<void> store(const Mark& mark) = 0;
};

// Thread safety: all of it.
class MarkStore {
 public:
  virtual ~MarkStore() = default;

  // Waits until nobody is inside.
  virtual Result<std::unique_ptr<MarkSession>> enter() = 0;
  // The mark, without waiting for whoever is inside.
  virtual Result<Mark> peek() const = 0;
  // For messages: the file, or the database and the resource.
  virtual std::string display() const = 0;
};

// The last mark that this process knows to be on disk. Used by one session at a time; atomic
// instead of under a mutex, because a forked child must not inherit a locked one.
class DurableMark {
 public:
  bool is(const Mark& mark) const {
    return newest_.load() == mark.newest.value() && writer_.load() == mark.writer.value();
  }
  void set(const Mark& mark) {
    newest_.store(mark.newest.value());
    writer_.store(mark.writer.value());
  }

 private:
  std::atomic<std::uint64_t> newest_{0};
  std::atomic<std::uint64_t> writer_{0};
};

}  // namespace holdfast::internal::fence
