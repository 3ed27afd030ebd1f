#include "lease/owner_label.h"

#include <algorithm>

namespace holdfast::internal {

namespace {

constexpr char kMark = '\x1f';
constexpr std::string_view kPrintedMark = "\\x1F";  // as printable() shows it

bool of_an_owner(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9') || std::string_view("._-:@/").find(each) != std::string::npos;
}

bool is_owner(std::string_view text) {
  return !text.empty() && text.size() <= kMaxOwnerBytes && std::ranges::all_of(text, of_an_owner);
}

// The owner between two marks at the beginning; empty if there is none.
std::string_view owner_in(std::string_view label, std::string_view mark) {
  if (!label.starts_with(mark)) return {};
  const std::string_view rest = label.substr(mark.size());
  const std::string_view owner = rest.substr(0, rest.find(mark));
  return owner.size() < rest.size() && is_owner(owner) ? owner : std::string_view();
}

template <class Who>
void take_owner(Who& who) {
  const std::string_view owner = owner_in(who.label, {&kMark, 1});
  if (owner.empty()) return;
  who.owner = owner;
  who.label.erase(0, who.owner.size() + 2);
}

}  // namespace

std::optional<std::string> problem_with_owner(std::string_view owner) {
  if (owner.empty() || is_owner(owner)) return {};
  return "an owner has 1 to " + std::to_string(kMaxOwnerBytes) +
         " bytes, letters, digits and . _ - : @ / only; not '" + std::string(owner) + "'";
}

std::string kept_label(std::string_view owner, std::string_view label) {
  if (owner.empty()) return std::string(label);
  std::string kept;
  kept.reserve(owner.size() + label.size() + 2);
  kept += kMark;
  kept += owner;
  kept += kMark;
  kept += label;
  return kept;
}

void take_owners(LockInfo& info) {
  for (HolderInfo& holder : info.holders) take_owner(holder);
  for (WaiterInfo& waiter : info.waiters) take_owner(waiter);
}

std::string without_owner(std::string holder) {
  const std::string_view owner = owner_in(holder, kPrintedMark);
  if (!owner.empty()) holder.erase(0, owner.size() + 2 * kPrintedMark.size());
  return holder;
}

}  // namespace holdfast::internal
