// Rows: which locks are shown, and in which order. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "top/sight.h"

namespace holdfast::cli::top {

enum class Sort { waiters, wait, age, name };

const char* sort_name(Sort sort);
Result<Sort> parse_sort(const std::string& text);

struct Choice {
  Sort sort = Sort::waiters;
  // A part of the name, or of the label, owner or token of a holder, or of the label or owner of a waiter; the case of
  // ASCII letters does not matter. Empty: all.
  std::string filter{};
  std::optional<std::size_t> engine{};  // none: all

  friend bool operator==(const Choice&, const Choice&) = default;
};

struct Row {
  std::size_t engine = 0;
  const TopLock* lock = nullptr;  // of the Sight, until its next look
};

// Those who are alike in what is sorted by are sorted by name.
std::vector<Row> rows_of(const Sight& sight, const Choice& choice);

}  // namespace holdfast::cli::top
