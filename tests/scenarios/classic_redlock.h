// ClassicRedlock: Redlock as its description has it, and the token that is often added to it: each
// node counts with INCR, the highest count of the majority is the token. A control: what befalls it
// shows that a scenario bites, where our engine comes through unharmed.
//
// Thread safety: one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge.h"

namespace holdfast::scenarios {

class ClassicRedlock {
 public:
  // Asks the nodes behind these ports, one after the other.
  ClassicRedlock(std::vector<int> ports, std::string owner)
      : ports_(std::move(ports)), owner_(std::move(owner)) {}

  // Nothing if the majority is not free. The worker believes for the whole ttl, less what it took.
  std::optional<Judge::Worker> try_lock(const std::string& name, Duration ttl);

 private:
  void give_back(const std::string& name);

  std::vector<int> ports_;
  std::string owner_;
};

}  // namespace holdfast::scenarios
