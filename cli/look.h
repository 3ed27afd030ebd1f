// Look: the locks of several engines, which are all asked at the same time. Not thread-safe; used by the main thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/deadlock.h"
#include "places.h"

namespace holdfast::cli {

// A place that is open. Connected to when it is first asked.
struct OpenPlace {
  Place place;
  Client client;
};

// The failure names the place. `observer_of` is called for each.
Result<std::vector<OpenPlace>> open_places(
    const Session& session, const std::function<std::shared_ptr<Observer>()>& observer_of);

struct Look {
  struct Unseen {
    std::string engine;
    Failure why;
  };
  std::vector<EngineLocks> seen;
  std::vector<Unseen> unseen;
};

// Returns when each has answered or failed.
Look look_at(std::vector<OpenPlace*> places);

}  // namespace holdfast::cli
