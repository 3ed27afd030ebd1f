// Contender: one that takes and gives back the lock that a contest is about.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace holdfast::bench {

class Contender {
 public:
  virtual ~Contender() = default;
  // Waits for the lock. False: the contest is over.
  virtual bool take() = 0;
  virtual void give() = 0;
};

// Makes all contenders of one process, in that process.
using MakeContenders =
    std::function<std::vector<std::unique_ptr<Contender>>(int count, std::stop_token over)>;

// Holdfast: one client per process, a mutex per contender.
MakeContenders holdfast_contenders(const std::string& url);

// The least that a hand-off on Redis can cost: one token in a list, taken by BLPOP and given back by
// RPUSH. No owner, no expiry: not a lock. Puts the token there.
MakeContenders list_contenders(int port);

}  // namespace holdfast::bench
