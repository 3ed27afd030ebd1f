// Semaphore: at most N holders at a time. N is stored with the name and checked: a client that
// comes with another N while permits are held or waited for is refused (invalid_argument).
// Thread safety: all of it.
#pragma once

#include "holdfast/export.h"
#include "holdfast/lock_request.h"

namespace holdfast {

class HOLDFAST_API Semaphore : public LockRequest {
 public:
  Semaphore(LockRequest request, std::uint32_t permits)
      : LockRequest(std::move(request)), permits_(permits) {}
  std::uint32_t permits() const { return permits_; }

 private:
  std::uint32_t permits_;
};

}  // namespace holdfast
