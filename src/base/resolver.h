// Resolver: looks server names up, on threads of its own, because the system's resolver blocks for
// as long as it likes. One per client.
//
// A lookup that hangs delays nothing else: the asker leaves at its deadline, or when its coroutine
// is destroyed, and the thread ends by itself, later, touching nothing of the client. Lookups of
// one name that overlap share a thread, so retries do not pile up. At most kThreads names are
// looked up at once; others wait for a thread, within their deadline.
//
// Thread safety: inside the loop only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "holdfast/runtime.h"

namespace holdfast::internal {

class Resolver {
 public:
  Resolver();

  // Addresses as numbers, at least one. unreachable if there is none by the deadline.
  Task<Result<std::vector<std::string>>> look_up(Runtime& runtime, std::string host,
                                                 Deadline deadline);

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // shared with the threads
};

}  // namespace holdfast::internal
