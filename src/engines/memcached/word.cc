#include "engines/memcached/word.h"

#include <algorithm>
#include <charconv>

#include "base/require.h"
#include "base/sha256.h"

namespace holdfast::internal::memcached {

namespace {

constexpr std::string_view kMagic = "hf1 ";

std::string key_of(std::string_view prefix, const std::string& name) {
  const bool own = name.starts_with(kHashedKey) || name.ends_with(kTokenSuffix);
  const bool fits = prefix.size() + name.size() + kTokenSuffix.size() <= kMaxKey;
  std::string key(prefix);
  if (fits && !own && is_plain(name)) return key += name;
  return key.append(kHashedKey).append(sha256_hex(name));
}

// Takes "TEXT " from the front.
std::string_view take_field(std::string_view& text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos) return {};
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(end + 1);
  return field;
}

template <class T>
bool take_number(std::string_view& text, T& number) {
  const std::string_view field = take_field(text);
  const auto parsed = std::from_chars(field.data(), field.data() + field.size(), number);
  return !field.empty() && parsed.ec == std::errc() && parsed.ptr == field.data() + field.size();
}

}  // namespace

Keys::Keys(std::string_view prefix, const Name& name)
    : word(key_of(prefix, name.bytes())), token(word + std::string(kTokenSuffix)) {
  HOLDFAST_REQUIRE_DEBUG(is_plain(prefix) && prefix.size() <= kMaxPrefix);
}

bool is_plain(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte > ' ' && byte != 0x7f;
  });
}

std::string Word::text() const {
  std::string text;
  text.reserve(100 + name.size() + label.size());
  text.append(kMagic).append(claim.hex()) += ' ';
  text.append(std::to_string(token.value())) += ' ';
  text.append(std::to_string(since_us)) += ' ';
  text.append(std::to_string(name.size())) += ' ';
  text.append(name) += ' ';
  return text += label;
}

std::optional<Word> Word::parse(std::string_view text) {
  if (!text.starts_with(kMagic)) return std::nullopt;
  text.remove_prefix(kMagic.size());
  Word word;
  const std::optional<ClaimId> claim = ClaimId::from_hex(take_field(text));
  std::uint64_t token = 0;
  std::size_t name_bytes = 0;
  if (!claim || !take_number(text, token) || !take_number(text, word.since_us) ||
      !take_number(text, name_bytes)) {
    return std::nullopt;
  }
  if (name_bytes == 0 || name_bytes > Name::kMaxBytes) return std::nullopt;
  if (text.size() <= name_bytes || text[name_bytes] != ' ') return std::nullopt;
  word.claim = *claim;
  word.token = Token(token);
  word.name = text.substr(0, name_bytes);
  word.label = text.substr(name_bytes + 1);
  return word;
}

ItemTtl::ItemTtl(Duration ttl) {
  constexpr std::chrono::seconds kMaxTtl = std::chrono::hours(24 * 30);
  constexpr std::chrono::seconds kTick(1);
  const auto wanted = std::chrono::ceil<std::chrono::seconds>(ttl) + kTick;
  seconds = std::min(wanted, kMaxTtl).count();
  sure = std::min<Duration>(ttl, kMaxTtl - kTick);
}

Duration sure_time(std::optional<std::uint64_t> left) {
  constexpr std::uint64_t kMaxTtl = 24 * 3600 * 30;
  const auto whole = static_cast<std::int64_t>(std::min(left.value_or(0), kMaxTtl));
  return std::chrono::seconds(std::max<std::int64_t>(whole - 1, 0));
}

}  // namespace holdfast::internal::memcached
