// Verdict: what a run came to. The questions are never merged: an overlap of beliefs need not do
// harm, a fence prevents the harm and not the overlap, and a lock that nobody gets harms nobody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::lab {

enum class Question {
  overlap,            // two clients acted as the holder at the same moment
  harm_unfenced,      // an accepted update is not in the result: resource without a fence
  harm_write_fenced,  // the same: the resource checks tokens on writes alone
  harm_fenced,        // the same: the resource checks tokens on reads and on writes
  token_order,  // a token was given twice, or a later one was lower: to clients, or at a fence
  overtaken,    // somebody who waited and lived was served after one who had asked later
  stalled,      // while the fault lasted somebody who asked for a free lock did not get it
  stranded,     // after the heal nobody could get the lock in time
};
inline constexpr Question kQuestions[] = {
    Question::overlap,     Question::harm_unfenced, Question::harm_write_fenced,
    Question::harm_fenced, Question::token_order,   Question::overtaken,
    Question::stalled,     Question::stranded,
};
const char* question_name(Question question);   // "harm_fenced": for JSON
const char* question_title(Question question);  // "harm with a full fence"

enum class Answer { no, yes, unknown };
const char* answer_name(Answer answer);

struct Verdict {
  Answer overlap = Answer::no;
  Answer harm_unfenced = Answer::no;
  Answer harm_write_fenced = Answer::no;
  Answer harm_fenced = Answer::no;
  Answer token_order = Answer::no;
  Answer overtaken = Answer::no;
  Answer stalled = Answer::no;
  Answer stranded = Answer::unknown;  // nobody looked

  Answer& operator[](Question question);
  Answer operator[](Question question) const;
  bool operator==(const Verdict&) const = default;
};
// A run that could not be brought to its end: nothing about it is known.
Verdict unknown_verdict();

// How the answers of several runs of one experiment add up.
struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t yes[std::size(kQuestions)]{};
  std::uint64_t unknown[std::size(kQuestions)]{};

  void add(const Verdict& verdict);
  void add(const Tally& other);
  std::uint64_t yes_of(Question question) const;
  std::uint64_t unknown_of(Question question) const;
  // "no violation in 50 runs (at most 6 % at 95 %)", "50 of 50 runs", "unknown in 3 of 50 runs, …".
  std::string text(Question question) const;
};

// An event that was never seen in `runs` runs happens in at most this part of them, with 95 % confidence.
double rule_of_three(std::uint64_t runs);
std::string percent(double part);  // "6 %", "0.3 %"

// The prediction of theory.
enum class Expect { no, yes, may };

struct Expected {
  Expect overlap = Expect::no;
  Expect harm_unfenced = Expect::no;
  Expect harm_write_fenced = Expect::no;
  Expect harm_fenced = Expect::no;
  Expect token_order = Expect::no;
  Expect overtaken = Expect::may;  // a lock need not be fair
  Expect stalled = Expect::no;
  Expect stranded = Expect::no;

  Expect operator[](Question question) const;
};

// In short, as in the tables of the debate: "V, f S". V: an update was lost or could have been; f:
// with a full fence (left out where there are no tokens to check); L: safe, but it stalls.
std::string letters(const Expected& expected);
std::string letters(const Tally& tally);

// Where what was measured differs from what was expected, a sentence each.
std::vector<std::string> differences(const Expected& expected, const Tally& tally);

}  // namespace holdfast::lab
