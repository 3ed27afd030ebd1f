#include "engines/redis/keys.h"

#include "base/eternal.h"

namespace holdfast::internal::redis {

namespace {

// Three ways to name a sibling, by what a cluster hashes of the word's own name:
//   quoted   {NAME}:hf:t      all of NAME, and it has no } that would end the tag early
//   tagged   NAME:hf+t        the tag in NAME, which the sibling then has as well
//   hashed   {123}:hf-t:NAME  all of NAME, which cannot be quoted: a number with the same hash
constexpr std::string_view kQuoted = ":hf:";
constexpr std::string_view kTagged = ":hf+";
constexpr std::string_view kHashed = ":hf-";

// CRC16-CCITT (XMODEM), as Redis Cluster prescribes.
constexpr std::uint16_t crc16(std::string_view bytes) {
  std::uint16_t crc = 0;
  for (const char byte : bytes) {
    crc = static_cast<std::uint16_t>(crc ^ (static_cast<unsigned char>(byte) << 8));
    for (int bit = 0; bit < 8; ++bit) {
      crc = static_cast<std::uint16_t>((crc & 0x8000) ? (crc << 1) ^ 0x1021 : crc << 1);
    }
  }
  return crc;
}

// The part between the first { and the next }, if there is one and it is not empty.
std::optional<std::string_view> tag_of(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return std::nullopt;
  return key.substr(open + 1, close - open - 1);
}

// For each slot a number that hashes to it.
const std::vector<std::string>& numbers_by_slot() {
  static const Eternal<std::vector<std::string>> numbers = [] {
    std::vector<std::string> found(kSlots);
    std::size_t missing = kSlots;
    for (std::uint32_t number = 0; missing > 0; ++number) {
      std::string text = std::to_string(number);
      std::string& place = found[crc16(text) % kSlots];
      if (!place.empty()) continue;
      place = std::move(text);
      --missing;
    }
    return found;
  }();
  return numbers;
}

// How the siblings of one name are called.
class Siblings {
 public:
  explicit Siblings(std::string_view name) : name_(name) {
    if (tag_of(name)) {
      way_ = Way::tagged;
    } else if (name.find('}') != std::string_view::npos) {
      way_ = Way::hashed;
    }
  }

  void add_to(Words& words, char letter) const {
    const std::string_view last(&letter, 1);
    switch (way_) {
      case Way::quoted: words.join({"{", name_, "}", kQuoted, last}); break;
      case Way::tagged: words.join({name_, kTagged, last}); break;
      case Way::hashed:
        words.join({"{", numbers_by_slot()[slot_of(name_)], "}", kHashed, last, ":", name_});
        break;
    }
  }

  // Those of several letters differ in their last character only, unless the name is hashed.
  void add_to(Words& words, std::string_view letters) const {
    bool first = true;
    for (const char letter : letters) {
      if (first || way_ == Way::hashed) {
        add_to(words, letter);
      } else {
        words.repeat(letter);
      }
      first = false;
    }
  }

 private:
  enum class Way { quoted, tagged, hashed };
  std::string_view name_;
  Way way_ = Way::quoted;
};

bool ends_as_sibling(std::string_view key, std::string_view mark) {
  return key.size() > mark.size() + 1 &&
         key.substr(key.size() - mark.size() - 1, mark.size()) == mark;
}

// "{123}:hf-" in front of a hashed name; its length, or 0.
std::size_t hashed_prefix(std::string_view key) {
  if (!key.starts_with('{')) return 0;
  const std::size_t close = key.find('}');
  if (close == std::string_view::npos || key.substr(close + 1, kHashed.size()) != kHashed) return 0;
  for (const char c : key.substr(1, close - 1)) {
    if (c < '0' || c > '9') return 0;
  }
  return close + 1 + kHashed.size();
}

}  // namespace

std::string sibling_pattern(char letter) { return std::string("*:hf[-:+]") + letter + "*"; }

std::string slot_tag(std::uint16_t slot) { return "{" + numbers_by_slot().at(slot) + "}"; }

std::uint16_t slot_of(std::string_view key) {
  return static_cast<std::uint16_t>(crc16(tag_of(key).value_or(key)) % kSlots);
}

std::string sibling_key(const std::string& name, char letter) {
  Words words;
  Siblings(name).add_to(words, letter);
  return std::string(words.at(0));
}

Keys::Keys(const std::string& name, std::size_t count) {
  all.add(name);
  Siblings(name).add_to(all, std::string_view("tqhi").substr(0, count - 1));
}

Keys Keys::of_fenced(const std::string& name) {
  Keys keys;
  keys.all.add(name);
  Siblings(name).add_to(keys.all, "ftx");
  return keys;
}

Keys Keys::of_vote(const std::string& name, const std::string& marker) {
  const Siblings siblings(name);
  Keys keys;
  keys.all.add(name);
  siblings.add_to(keys.all, 'r');
  keys.all.add(marker);
  siblings.add_to(keys.all, "wgo");
  return keys;
}

Keys Keys::of(Words keys) {
  Keys these;
  these.all = std::move(keys);
  return these;
}

bool looks_like_sibling(std::string_view name) {
  return ends_as_sibling(name, kQuoted) || ends_as_sibling(name, kTagged) ||
         hashed_prefix(name) != 0;
}

std::optional<std::string> name_of_sibling_key(std::string_view key, char letter) {
  if (const std::size_t prefix = hashed_prefix(key); prefix != 0) {
    key.remove_prefix(prefix);
    if (key.size() < 2 || key[0] != letter || key[1] != ':') return std::nullopt;
    return std::string(key.substr(2));
  }
  if (!key.ends_with(letter)) return std::nullopt;
  if (ends_as_sibling(key, kTagged)) {
    return std::string(key.substr(0, key.size() - kTagged.size() - 1));
  }
  if (!ends_as_sibling(key, kQuoted)) return std::nullopt;
  key.remove_suffix(kQuoted.size() + 1);
  if (!key.starts_with('{') || !key.ends_with('}')) return std::nullopt;
  return std::string(key.substr(1, key.size() - 2));
}

}  // namespace holdfast::internal::redis
