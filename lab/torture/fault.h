// Fault: something that goes wrong, begins, lasts and is undone, so that two of them can be put
// together. See pairs.h.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "lab/torture/stage.h"

namespace holdfast::lab {

// Begun in this order, whatever the pair: a server that stands still cannot be told that its memory
// is full, and one whose disk stalls does not start.
struct Fault {
  std::string id;     // "silent": in the names of pairs
  std::string title;  // "a client is cut off in silence"
  std::set<Can> needs = {};
  bool hits_a_client = false;
  // The undoing goes to the stage. `victim` is a client that holds the lock or waits for it.
  std::function<void(Stage& stage, Actor& victim)> begin;
  // Two may hold the lock while it lasts: theory, not measurement.
  std::function<bool(const Profile&)> breaks_exclusion;
  // The server forgets grants, tokens included.
  std::function<bool(const Profile&)> forgets = [](const Profile&) { return false; };
  bool moves_clocks = false;      // of servers
  bool sets_clocks_back = false;  //
  bool other_clock = false;       // another server, whose clock is right, takes over
};

// All of them, in the order in which they begin.
const std::vector<Fault>& faults();
const Fault* find_fault(const std::string& id);

}  // namespace holdfast::lab
