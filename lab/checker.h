// Checker: reads the history of a run and says what happened. Pure: the same history, the same
// verdict.
//
// Belief. A client believes from its grant to the last moment at which it said so (believed,
// renewed) or acted on it (read, sent, wrote, barred); releasing, lost, doubted and died end it. So
// a client that looked, was paused and writes without looking again has believed all the while. A
// grant that nobody acted on or asked about is a belief of no length.
//
// Harm. An update is lost when a resource accepts a write that does not build on the last one it
// accepted: each write is the number that was read plus one, so accepted numbers must grow by one.
//
// Where a client whose recipe has no tokens took part, nobody knows what a fence would have done.
//
// Tokens. A token is given to one grant only; a grant that was asked for after another one was made
// has the higher token. And as the resource saw them: a writer that a fence let in has no lower token
// than anybody it let in before, a reader no lower one than any writer before it, and one token comes
// from one client. Readers of a shared lock hold it together: their beliefs do not overlap.
#pragma once

#include <string>
#include <vector>

#include "lab/history.h"
#include "lab/verdict.h"

namespace holdfast::lab {

// From a grant to its end.
struct Belief {
  std::string who;
  std::uint64_t token = 0;
  BootTime asked;
  BootTime from;
  BootTime until;       // the last moment of which there is evidence
  bool shared = false;  // as a reader
};

// Two of them at the same time.
struct Overlap {
  Belief first;
  Belief second;
  Duration length() const;
};

struct LostUpdate {
  ResourceId resource;
  std::string who;          // whose write was accepted and should not have been
  std::int64_t value = 0;   // it wrote this
  std::int64_t before = 0;  // while this was there
  BootTime at;
};

// A waiter that asked later and got the lock first.
struct Overtaking {
  std::string early;
  std::string late;
  Duration ahead;  // by so much the early one had asked before
};

struct Diagnosis {
  Verdict verdict;
  std::vector<Belief> beliefs;
  std::vector<Overlap> overlaps;
  std::vector<LostUpdate> lost_updates;
  std::vector<std::string> token_troubles;  // a sentence each
  std::vector<Overtaking> overtakings;      // among waiters that were served in the end
  std::uint64_t grants = 0;
  std::uint64_t accepted = 0;  // writes
  std::uint64_t barred = 0;    // reads and writes that a fence refused
  Duration longest_wait{};     // of those who were served
  Duration until_progress{};   // from the heal to the newcomer's grant; zero if nobody looked
};

// REQUIRES: sorted by time, as read_history() returns it.
Diagnosis check(const History& history);

// The parts of it, each for itself.
std::vector<Belief> beliefs_in(const History& history);
std::vector<Overlap> overlaps_among(std::vector<Belief> beliefs);
std::vector<LostUpdate> lost_updates_in(const History& history);
std::vector<std::string> token_troubles_in(const std::vector<Belief>& beliefs);
std::vector<std::string> token_troubles_at_fences(const History& history);
std::vector<Overtaking> overtakings_in(const History& history);

}  // namespace holdfast::lab
