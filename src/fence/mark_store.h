// Where a gate keeps its high-water mark, and how it keeps others out. FenceGate decides; these two
// interfaces are all that a new kind of storage has to provide.
#pragma once

#include <memory>
#include <string>

#include "holdfast/ids.h"
#include "holdfast/result.h"

namespace holdfast::internal::fence {

// Being inside: no other thread, gate or process is, until this ends. It may outlive its store,
// but load() and store() are called only while the store lives.
class MarkSession {
 public:
  virtual ~MarkSession() = default;

  // The mark as everybody on this machine sees it now; perhaps not on disk yet, because its writer
  // may have been killed between the write and the flush.
  virtual Result<Token> load() = 0;
  // Makes `token` the mark; it is on disk when this returns, also if the mark was that already.
  // REQUIRES: `token` is not below load().
  virtual Result<void> store(Token token) = 0;
};

// Thread safety: all of it.
class MarkStore {
 public:
  virtual ~MarkStore() = default;

  // Waits until nobody is inside.
  virtual Result<std::unique_ptr<MarkSession>> enter() = 0;
  // The mark, without waiting for whoever is inside.
  virtual Result<Token> peek() const = 0;
  // For messages: the file, or the database and the resource.
  virtual std::string display() const = 0;
};

}  // namespace holdfast::internal::fence
