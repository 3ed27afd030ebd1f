#include "engines/etcd/keys.h"

#include <charconv>
#include <cstdio>
#include <vector>

#include "base/sha256.h"
#include "base/text.h"

namespace holdfast::internal::etcd {

namespace {

constexpr std::string_view kShared = "~s";
constexpr std::string_view kPermit = "~p";
constexpr std::size_t kPermitDigits = 10;
constexpr std::string_view kRecord = "~record";
constexpr std::string_view kMagic = "holdfast1";

std::string permit_digits(std::uint32_t permits) {
  std::string digits = std::to_string(permits);
  return std::string(kPermitDigits - digits.size(), '0') + digits;
}

template <class T>
bool parse_number(std::string_view text, T& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// Reads the last part of one of our keys into `entry`; false if it is not ours.
bool read_suffix(std::string_view suffix, Entry& entry) {
  if (suffix.starts_with(kShared)) {
    entry.mode = Mode::shared;
    suffix.remove_prefix(kShared.size());
  } else if (suffix.starts_with(kPermit) && suffix.size() > kPermit.size() + kPermitDigits &&
             suffix[kPermit.size() + kPermitDigits] == '-') {
    entry.mode = Mode::permit;
    if (!parse_number(suffix.substr(kPermit.size(), kPermitDigits), entry.permits)) return false;
    suffix.remove_prefix(kPermit.size() + kPermitDigits + 1);
  }
  const std::optional<ClaimId> id = ClaimId::from_hex(suffix);
  if (!id) return false;
  entry.id = *id;
  return true;
}

// Nothing if it is another program's: we would have written the name in another way.
std::optional<Name> unescaped_name(std::string_view escaped) {
  std::string name;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const std::string_view part = escaped.substr(i, 3);
    const bool escape = part == "%2F" || part == "%25";
    name += !escape ? escaped[i] : part == "%2F" ? '/' : '%';
    if (escape) i += 2;
  }
  if (Name::problem_with(name) || escaped_name(name) != escaped) return std::nullopt;
  return Name(name);
}

ClaimId made_up_id(std::string_view key) {
  return ClaimId::from_hex(sha256_hex(key).substr(0, 2 * ClaimId::kBytes)).value_or(ClaimId());
}

}  // namespace

std::string escaped_name(std::string_view name) {
  std::string out;
  for (const char byte : name) {
    out += byte == '/' ? "%2F" : byte == '%' ? "%25" : std::string(1, byte);
  }
  return out;
}

std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<std::uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

Keys::Keys(const std::string& prefix, const Name& name)
    : base(prefix + escaped_name(name.bytes()) + "/"),
      end(end_of_prefix(base)),
      shared_begin(base + std::string(kShared)),
      shared_end(end_of_prefix(shared_begin)),
      permits_begin(base + std::string(kPermit)),
      permits_end(end_of_prefix(permits_begin)) {}

std::string Keys::permits_begin_of(std::uint32_t permits) const {
  return permits_begin + permit_digits(permits) + "-";
}

std::string Keys::permits_end_of(std::uint32_t permits) const {
  return end_of_prefix(permits_begin_of(permits));
}

std::string Keys::at(const Claim& claim, const ClaimId& slot) const {
  switch (claim.mode) {
    case Mode::exclusive: return base + slot.hex();
    case Mode::shared: return shared_begin + slot.hex();
    case Mode::permit: return permits_begin_of(claim.permits) + slot.hex();
  }
  return {};
}

// "holdfast1 MARK ID TTL_MS SINCE_US LABEL"
std::string Note::encode() const {
  using std::chrono::milliseconds;
  std::string out(kMagic);
  out += granted ? " g " : " w ";
  out += (id ? id->hex() : "-") + " ";
  out += std::to_string(std::chrono::duration_cast<milliseconds>(ttl).count()) + " ";
  out += std::to_string(since.time_since_epoch().count()) + " ";
  return out + label;
}

std::optional<Note> Note::parse(std::string_view value) {
  std::vector<std::string_view> words;
  for (int i = 0; i < 5; ++i) {
    const std::size_t space = value.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    words.push_back(value.substr(0, space));
    value.remove_prefix(space + 1);
  }
  Note note;
  std::int64_t ttl_ms = 0;
  std::int64_t since_us = 0;
  if (words[0] != kMagic || !parse_number(words[3], ttl_ms) || !parse_number(words[4], since_us)) {
    return std::nullopt;
  }
  // No more than a claim can have: anybody can write there.
  constexpr std::int64_t kMaxMs = std::int64_t{1000} * 3600 * 24 * 365;
  constexpr std::int64_t kMaxUs = std::int64_t{4'000'000'000} * 1'000'000;
  if (ttl_ms < 0 || ttl_ms > kMaxMs || since_us < 0 || since_us > kMaxUs) return std::nullopt;
  note.id = ClaimId::from_hex(words[2]);
  note.granted = words[1] == "g";
  note.ttl = std::chrono::milliseconds(ttl_ms);
  note.since = WallTime(std::chrono::microseconds(since_us));
  note.label = value;
  return note;
}

std::string lease_text(LeaseId lease) {
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(lease));
  return text;
}

std::string Entry::label() const {
  if (!foreign) return note.label;
  return "a foreign client" + (lease != 0 ? " (lease " + lease_text(lease) + ")" : "");
}

Entry entry_of(const Keys& keys, const KeyValue& pair) {
  Entry entry{.key = pair.key, .created = pair.created, .lease = pair.lease};
  const std::string_view suffix =
      std::string_view(pair.key).substr(std::min(keys.base.size(), pair.key.size()));
  entry.foreign = !read_suffix(suffix, entry);
  if (entry.foreign) {
    entry.mode = Mode::exclusive;
    entry.permits = 1;
    entry.id = made_up_id(pair.key);
  } else if (std::optional<Note> note = Note::parse(pair.value)) {
    entry.note = *std::move(note);
    if (entry.note.id) entry.id = *entry.note.id;
  }
  return entry;
}

std::optional<Name> name_of(const std::string& prefix, std::string_view key) {
  if (!key.starts_with(prefix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  const std::size_t slash = key.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return unescaped_name(key.substr(0, slash));
}

std::string record_key(const std::string& prefix, const Name& name) {
  return prefix + escaped_name(name.bytes()) + std::string(kRecord);
}

std::optional<Name> name_of_record(const std::string& prefix, std::string_view key) {
  if (!key.starts_with(prefix) || !key.ends_with(kRecord)) return std::nullopt;
  key.remove_prefix(prefix.size());
  if (key.size() <= kRecord.size()) return std::nullopt;
  return unescaped_name(key.substr(0, key.size() - kRecord.size()));
}

}  // namespace holdfast::internal::etcd
