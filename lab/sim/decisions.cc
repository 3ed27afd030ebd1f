#include "lab/sim/decisions.h"

#include <charconv>

namespace holdfast::lab::sim {

namespace {

// A number at the front of `text`, which is then shortened.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_sign(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<Selection> Selection::parse(const std::string& text) {
  constexpr unsigned kMaxDivisor = 1U << 20;
  Selection selection;
  selection.all_ = false;
  if (text == "none") return selection;
  std::string_view rest = text;
  do {
    const auto number = take_number<std::size_t>(rest);
    if (!number) return std::nullopt;
    unsigned divisor = 1;
    if (take_sign(rest, '/')) {
      const auto given = take_number<unsigned>(rest);
      if (!given || *given == 0 || *given > kMaxDivisor) return std::nullopt;
      divisor = *given;
    }
    selection.kept_[*number] = divisor;
  } while (take_sign(rest, ','));
  if (!rest.empty()) return std::nullopt;
  return selection;
}

Selection Selection::first(std::size_t count) {
  Selection selection;
  selection.all_ = false;
  for (std::size_t number = 0; number < count; ++number) selection.kept_[number] = 1;
  return selection;
}

std::string Selection::text() const {
  if (all_) return {};
  if (kept_.empty()) return "none";
  std::string text;
  for (const auto& [number, divisor] : kept_) {
    if (!text.empty()) text += ',';
    text += std::to_string(number);
    if (divisor != 1) text += '/' + std::to_string(divisor);
  }
  return text;
}

unsigned Selection::divisor(std::size_t number) const {
  if (all_) return 1;
  const auto found = kept_.find(number);
  return found == kept_.end() ? 1 : found->second;
}

}  // namespace holdfast::lab::sim
