#include "lab/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace holdfast::lab {
namespace {

std::size_t index_of(Question question) { return static_cast<std::size_t>(question); }

// One letter for what a resource suffers.
const char* letter(Expect harm) {
  switch (harm) {
    case Expect::no: return "S";
    case Expect::yes: return "V";
    case Expect::may: return "V?";
  }
  return "?";
}

std::string letters_of(Expect overlap, Expect unfenced, Expect fenced, Expect stalled,
                       Expect stranded) {
  if (stranded == Expect::yes) return "stranded";
  const bool harmless = overlap == Expect::no && unfenced == Expect::no;
  if (harmless && fenced == Expect::no) {
    if (stalled == Expect::no) return "S";
    return stalled == Expect::yes ? "L" : "S/L";
  }
  const Expect worst =
      overlap == Expect::yes ? overlap : (unfenced == Expect::no ? overlap : unfenced);
  std::string text = letter(worst);
  if (fenced == Expect::may) return text;
  text += ", f ";
  text += letter(fenced);
  return text;
}

}  // namespace

const char* question_name(Question question) {
  switch (question) {
    case Question::overlap: return "overlap";
    case Question::harm_unfenced: return "harm_unfenced";
    case Question::harm_write_fenced: return "harm_write_fenced";
    case Question::harm_fenced: return "harm_fenced";
    case Question::token_order: return "token_order";
    case Question::overtaken: return "overtaken";
    case Question::stalled: return "stalled";
    case Question::stranded: return "stranded";
  }
  return "?";
}

const char* question_title(Question question) {
  switch (question) {
    case Question::overlap: return "two holders at once";
    case Question::harm_unfenced: return "lost update without a fence";
    case Question::harm_write_fenced: return "lost update with a write-only fence";
    case Question::harm_fenced: return "lost update with a full fence";
    case Question::token_order: return "tokens out of order";
    case Question::overtaken: return "a waiter was overtaken";
    case Question::stalled: return "stalled during the fault";
    case Question::stranded: return "stranded after the heal";
  }
  return "?";
}

const char* answer_name(Answer answer) {
  switch (answer) {
    case Answer::no: return "no";
    case Answer::yes: return "yes";
    case Answer::unknown: return "unknown";
  }
  return "?";
}

Answer& Verdict::operator[](Question question) {
  switch (question) {
    case Question::overlap: return overlap;
    case Question::harm_unfenced: return harm_unfenced;
    case Question::harm_write_fenced: return harm_write_fenced;
    case Question::harm_fenced: return harm_fenced;
    case Question::token_order: return token_order;
    case Question::overtaken: return overtaken;
    case Question::stalled: return stalled;
    case Question::stranded: break;
  }
  return stranded;
}

Answer Verdict::operator[](Question question) const {
  return const_cast<Verdict&>(*this)[question];  // NOLINT: it reads only
}

Verdict unknown_verdict() {
  Verdict verdict;
  for (const Question question : kQuestions) verdict[question] = Answer::unknown;
  return verdict;
}

void Tally::add(const Verdict& verdict) {
  ++runs;
  for (const Question question : kQuestions) {
    if (verdict[question] == Answer::yes) ++yes[index_of(question)];
    if (verdict[question] == Answer::unknown) ++unknown[index_of(question)];
  }
}

void Tally::add(const Tally& other) {
  runs += other.runs;
  for (const Question question : kQuestions) {
    yes[index_of(question)] += other.yes_of(question);
    unknown[index_of(question)] += other.unknown_of(question);
  }
}

std::uint64_t Tally::yes_of(Question question) const { return yes[index_of(question)]; }
std::uint64_t Tally::unknown_of(Question question) const { return unknown[index_of(question)]; }

double rule_of_three(std::uint64_t runs) {
  return runs <= 3 ? 1.0 : 3.0 / static_cast<double>(runs);
}

std::string percent(double part) {
  std::array<char, 32> text{};
  const double value = part * 100;
  // Two digits that mean something.
  const int digits = value >= 10 || value == std::floor(value) ? 0 : value >= 1 ? 1 : 3;
  std::snprintf(text.data(), text.size(), "%.*f %%", digits, value);
  return text.data();
}

std::string Tally::text(Question question) const {
  if (runs == 0) return "not run";
  const std::uint64_t known = runs - unknown_of(question);
  const auto runs_text = [](std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " run" : " runs");
  };
  std::string result;
  if (unknown_of(question) > 0) {
    result = "unknown in " + std::to_string(unknown_of(question)) + " of " + runs_text(runs);
    if (known == 0) return result;
    result += "; ";
  }
  if (yes_of(question) > 0)
    return result + "in " + std::to_string(yes_of(question)) + " of " + runs_text(known);
  return result + "no violation in " + runs_text(known) + " (at most " +
         percent(rule_of_three(known)) + " at 95 %)";
}

Expect Expected::operator[](Question question) const {
  switch (question) {
    case Question::overlap: return overlap;
    case Question::harm_unfenced: return harm_unfenced;
    case Question::harm_write_fenced: return harm_write_fenced;
    case Question::harm_fenced: return harm_fenced;
    case Question::token_order: return token_order;
    case Question::overtaken: return overtaken;
    case Question::stalled: return stalled;
    case Question::stranded: return stranded;
  }
  return Expect::may;
}

std::string letters(const Expected& expected) {
  return letters_of(expected.overlap, expected.harm_unfenced, expected.harm_fenced,
                    expected.stalled, expected.stranded);
}

std::string letters(const Tally& tally) {
  // An unknown result is neither safe nor a violation.
  for (const Question question : {Question::overlap, Question::harm_unfenced}) {
    if (tally.yes_of(question) == 0 && tally.unknown_of(question) == tally.runs) return "?";
  }
  const auto seen = [&](Question question) {
    if (tally.yes_of(question) > 0) return Expect::yes;
    return tally.unknown_of(question) == tally.runs ? Expect::may : Expect::no;
  };
  return letters_of(seen(Question::overlap), seen(Question::harm_unfenced),
                    seen(Question::harm_fenced), seen(Question::stalled), seen(Question::stranded));
}

std::vector<std::string> differences(const Expected& expected, const Tally& tally) {
  std::vector<std::string> sentences;
  const auto unknown = [&](Question question) { return tally.unknown_of(question) == tally.runs; };
  if (tally.runs > 0 && std::ranges::all_of(kQuestions, unknown)) {
    return {"nothing is known: no run came to its end"};
  }
  for (const Question question : kQuestions) {
    const std::uint64_t yes = tally.yes_of(question);
    const std::uint64_t known = tally.runs - tally.unknown_of(question);
    const std::string title = question_title(question);
    if (expected[question] == Expect::no && yes > 0) {
      sentences.push_back(title + ": not expected, seen " + tally.text(question));
    } else if (expected[question] == Expect::yes && yes == 0 && known > 0) {
      sentences.push_back(title + ": expected, not seen in " + std::to_string(known) +
                          (known == 1 ? " run" : " runs"));
    } else if (expected[question] != Expect::may && known == 0 && tally.runs > 0) {
      sentences.push_back(title + ": unknown in every run");
    }
  }
  return sentences;
}

}  // namespace holdfast::lab
