// Client cores: all that is below a Client, owned as a whole. A Core has a `runtime`, the `locker`, and whatever else
// that one stands on.
#pragma once

#include <memory>
#include <type_traits>

#include "base/real_runtime.h"
#include "lease/locker.h"

namespace holdfast::internal {

// Ends a client with all that is below it.
template <class Core>
void end_client(Core* core) {
  // In a forked child none of our threads exists and every mutex may be locked: leave it all.
  if (core->runtime.forked()) return;
  const auto end = [core] {
    core->runtime.finish_with(core->locker->close());
    {
      const typename std::remove_reference_t<decltype(core->runtime)>::Inside inside(core->runtime);
      core->locker.reset();
    }
    delete core;
  };
  // Inside another client's loop it would keep that one waiting, which this one's loop may wait for.
  if (Loop::current() || core->runtime.on_own_thread()) {
    RealRuntime::run_elsewhere(end);
  } else {
    end();
  }
}

// The locker, which owns the whole core from now on.
template <class Core>
std::shared_ptr<Locker> share_locker(std::unique_ptr<Core> core) {
  const std::shared_ptr<Core> shared(core.release(), &end_client<Core>);
  const std::shared_ptr<Locker> locker(shared, shared->locker.get());
  locker->set_self(locker);
  return locker;
}

}  // namespace holdfast::internal
