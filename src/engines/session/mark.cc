#include "engines/session/mark.h"

#include "base/text.h"

namespace holdfast::internal::session {

namespace {

// Takes the next word off the text; it ends at a space.
std::string_view next_word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

}  // namespace

std::string mark_of(const Key& key, const Claim& claim) {
  return std::string(kMarkBegin) + to_hex(key.hash) + " " + claim.id.hex() +
         (claim.mode == Mode::shared ? " s " : " x ") + to_hex(claim.label.substr(0, kMaxLabel)) +
         " */ ";
}

std::string marked() { return std::string(kMarkBegin) + "%"; }

std::string marked(const Key& key) { return std::string(kMarkBegin) + to_hex(key.hash) + " %"; }

std::optional<Marked> read_mark(std::string_view statement) {
  if (!statement.starts_with(kMarkBegin)) return std::nullopt;
  statement.remove_prefix(kMarkBegin.size());
  const std::string_view key = next_word(statement);
  const auto hash = bytes_from_hex(key);
  const auto id = ClaimId::from_hex(next_word(statement));
  if (key.size() != kMarkKeyDigits || !hash || !id) return std::nullopt;
  Marked marked{.key_hash = *hash, .waiter = {.id = *id}};
  marked.waiter.mode = next_word(statement) == "s" ? Mode::shared : Mode::exclusive;
  marked.waiter.label = bytes_from_hex(next_word(statement)).value_or("");
  return marked;
}

}  // namespace holdfast::internal::session
