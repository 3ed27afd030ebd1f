// LockHistory: random histories of a lock with readers and writers, of whom some act late; and what
// a fence must answer each of them. The answers are looked up in the whole history, not in a mark,
// so that they say what a mark is for. Only tests include this.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "holdfast/ticket.h"

namespace holdfast::fence_testing {

class LockHistory {
 public:
  explicit LockHistory(unsigned seed) : random_(seed) {}

  struct Act {
    Ticket ticket;
    bool valid;     // it holds the lock now
    bool admitted;  // what the fence must say
  };

  // The next one that goes to the resource.
  Act next() {
    if (grants_.empty() || one_in(3)) grant();
    if (one_in(6)) valid_from_ = grants_.size();  // all holders release, or lose it
    const bool holder = valid_from_ < grants_.size() && !one_in(3);
    const std::size_t oldest = grants_.size() > kMemory ? grants_.size() - kMemory : 0;
    const std::size_t chosen = between(holder ? valid_from_ : oldest, grants_.size() - 1);
    const Ticket ticket = grants_[chosen];
    return {ticket, chosen >= valid_from_, must_be_admitted(ticket)};
  }
  // It was let in.
  void admitted(const Ticket& ticket) { admitted_.push_back(ticket); }

 private:
  static constexpr std::size_t kMemory = 12;  // so many grants ago somebody may still wake up

  std::size_t between(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random_);
  }
  bool one_in(std::size_t n) { return between(1, n) == 1; }

  // As a lock does: tokens grow; readers hold together, a writer alone.
  void grant() {
    const Mode mode = one_in(3) ? Mode::exclusive : Mode::shared;
    const bool joins = mode == Mode::shared && valid_from_ < grants_.size() &&
                       grants_[valid_from_].mode == Mode::shared;
    if (!joins) valid_from_ = grants_.size();
    token_ += between(1, 3);
    grants_.emplace_back(Token(token_), mode);
  }

  // A late writer is refused once any later holder was there, a late reader once a later writer was.
  bool must_be_admitted(const Ticket& ticket) const {
    return std::none_of(admitted_.begin(), admitted_.end(), [&](const Ticket& other) {
      return other.token > ticket.token &&
             (ticket.mode == Mode::exclusive || other.mode == Mode::exclusive);
    });
  }

  std::mt19937 random_;  // layers: allow(random) tests only, and seeded
  std::uint64_t token_ = 0;
  std::vector<Ticket> grants_;    // in the order of their tokens
  std::size_t valid_from_ = 0;    // these and all later ones hold the lock
  std::vector<Ticket> admitted_;  // in the order in which they acted
};

inline std::string display(const LockHistory::Act& act) {
  return std::string(act.valid ? "valid " : "late ") + mode_name(act.ticket.mode) + " holder " +
         act.ticket.token.str();
}

// Runs `acts` of a history against `admits(ticket)`. REQUIRES: the fence is new.
template <class Admits>
void expect_fence_of(unsigned seed, int acts, Admits admits) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  LockHistory history(seed);
  int late_and_refused = 0;
  int readers_below_the_newest = 0;
  Token newest;
  for (int i = 0; i < acts; ++i) {
    const LockHistory::Act act = history.next();
    ASSERT_TRUE(act.admitted || !act.valid) << display(act) << ": the rule refuses a valid holder";
    ASSERT_EQ(admits(act.ticket), act.admitted) << display(act) << ", act " << i;
    if (!act.admitted) {
      ++late_and_refused;
      continue;
    }
    history.admitted(act.ticket);
    if (act.ticket.token < newest) ++readers_below_the_newest;
    newest = std::max(newest, act.ticket.token);
  }
  // A history in which nobody was late, or no reader had a newer one beside it, would show nothing.
  EXPECT_GT(late_and_refused, acts / 100);
  EXPECT_GT(readers_below_the_newest, acts / 100);
}

// The same for two programs that use one mark in turn, one of which knows no modes. Nobody that is
// late is admitted by either, and no valid writer refused; readers may be, as they were before.
template <class Admits, class AdmitsByTokenAlone>
void expect_fence_of_two_versions(unsigned seed, int acts, Admits admits,
                                  AdmitsByTokenAlone admits_by_token) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 dice(seed + 1);  // layers: allow(random) tests only, and seeded
  LockHistory history(seed);
  int readers_admitted = 0;
  for (int i = 0; i < acts; ++i) {
    const LockHistory::Act act = history.next();
    const bool new_one = dice() % 2 == 0;
    const bool admitted = new_one ? admits(act.ticket) : admits_by_token(act.ticket.token);
    const std::string what =
        display(act) + ", act " + std::to_string(i) + (new_one ? ", with modes" : ", without");
    ASSERT_TRUE(act.admitted || !admitted) << what << ": admitted though late";
    if (act.valid && act.ticket.mode == Mode::exclusive) {
      ASSERT_TRUE(admitted) << what << ": a valid writer is refused";
    }
    if (!admitted) continue;
    history.admitted(act.ticket);
    if (act.ticket.mode == Mode::shared) ++readers_admitted;
  }
  EXPECT_GT(readers_admitted, acts / 20);
}

}  // namespace holdfast::fence_testing
