#include "top/rows.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>

#include "secrets.h"

namespace holdfast::cli::top {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool contains(std::string_view text, std::string_view lower_case) {
  const auto same = [](char c, char wanted) { return lower(c) == wanted; };
  return std::search(text.begin(), text.end(), lower_case.begin(), lower_case.end(), same) !=
         text.end();
}

bool matches(const SeenLock& lock, const std::string& wanted) {
  if (wanted.empty() || contains(lock.name.bytes(), wanted)) return true;
  for (const SeenHolder& each : lock.holders) {
    if (contains(each.label, wanted) || contains(each.owner, wanted) ||
        contains(each.token.str(), wanted))
      return true;
  }
  return std::ranges::any_of(lock.waiters, [&](const SeenWaiter& each) {
    return contains(each.label, wanted) || contains(each.owner, wanted);
  });
}

// The smallest comes first.
long long rank_of(const TopLock& lock, Sort sort) {
  constexpr long long kLast = std::numeric_limits<long long>::max();
  switch (sort) {
    case Sort::waiters: return -static_cast<long long>(lock.lock.waiters.size());
    case Sort::wait: return lock.waiting_since_ms().value_or(kLast);
    case Sort::age: return lock.held_since_ms().value_or(kLast);
    case Sort::name: break;
  }
  return 0;
}

}  // namespace

const char* sort_name(Sort sort) {
  switch (sort) {
    case Sort::waiters: return "waiters";
    case Sort::wait: return "wait";
    case Sort::age: return "age";
    case Sort::name: break;
  }
  return "name";
}

Result<Sort> parse_sort(const std::string& text) {
  for (const Sort sort : {Sort::waiters, Sort::wait, Sort::age, Sort::name}) {
    if (text == sort_name(sort)) return sort;
  }
  return Failure(Code::invalid_argument,
                 "--sort wants waiters, wait, age or name; not " + quoted_word(text));
}

std::vector<Row> rows_of(const Sight& sight, const Choice& choice) {
  std::string wanted = choice.filter;
  std::ranges::transform(wanted, wanted.begin(), lower);
  struct Ranked {
    long long rank;
    Row row;
  };
  std::vector<Ranked> ranked;
  for (std::size_t engine = 0; engine < sight.engines().size(); ++engine) {
    if (choice.engine && *choice.engine != engine) continue;
    for (const auto& [name, lock] : sight.engines()[engine].locks) {
      if (matches(lock.lock, wanted))
        ranked.push_back({rank_of(lock, choice.sort), {engine, &lock}});
    }
  }
  std::ranges::sort(ranked, [](const Ranked& one, const Ranked& other) {
    if (one.rank != other.rank) return one.rank < other.rank;
    const std::string& name = one.row.lock->lock.name.bytes();
    const std::string& other_name = other.row.lock->lock.name.bytes();
    return name != other_name ? name < other_name : one.row.engine < other.row.engine;
  });
  std::vector<Row> rows;
  rows.reserve(ranked.size());
  for (const Ranked& each : ranked) rows.push_back(each.row);
  return rows;
}

}  // namespace holdfast::cli::top
