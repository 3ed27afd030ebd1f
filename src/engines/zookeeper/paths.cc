#include "engines/zookeeper/paths.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast::internal::zookeeper {

namespace {

constexpr std::string_view kHead = "_c_";
constexpr std::string_view kOurs = "-hf-";
constexpr std::string_view kKept = "kept-";
constexpr std::string_view kPermit = "permit-";

// How many bytes the character at the front has, if ZooKeeper allows it in a path as it is.
std::size_t plain_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) < 0x7f && text[0] != '/' && text[0] != '%';
  const std::size_t size = byte(0) >= 0xe0 && byte(0) < 0xf0   ? 3
                           : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
                                                               : 0;
  // (Four bytes are two surrogates in Java, and forbidden.)
  if (size == 0 || text.size() < size) return 0;
  std::uint32_t point = byte(0) & (size == 3 ? 0x0f : 0x1f);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = size == 3 && point < 0x800;
  const bool forbidden = point < 0xa0 || (point >= 0xd800 && point <= 0xf8ff) || point >= 0xfff0;
  return overlong || forbidden ? 0 : size;
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

}  // namespace

std::string escaped_name(const Name& name, bool at_root) {
  std::string_view text = name.bytes();
  std::string out;
  if (text == "." || text == ".." || (at_root && text == "zookeeper")) {
    append_escaped(out, text.front());
    text.remove_prefix(1);
    if (text == ".") {
      append_escaped(out, '.');
      text.remove_prefix(1);
    }
  }
  while (!text.empty()) {
    const std::size_t size = plain_bytes(text);
    if (size == 0) {
      append_escaped(out, text.front());
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::optional<Name> unescaped_name(std::string_view part) {
  std::string bytes;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      bytes += part[i];
      continue;
    }
    if (i + 2 >= part.size()) return std::nullopt;
    const std::optional<int> high = hex_digit(part[i + 1]);
    const std::optional<int> low = hex_digit(part[i + 2]);
    if (!high || !low) return std::nullopt;
    bytes += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  if (Name::problem_with(bytes)) return std::nullopt;
  return Name(bytes);
}

// ---- Nodes of claims ---------------------------------------------------------------------------

namespace {

// ZooKeeper prints the number with "%010d": ten digits, or a minus and nine, or a minus and ten.
std::optional<std::int32_t> parse_sequence(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() < 10 || text.size() > 10 + sign) return std::nullopt;
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if (number < INT32_MIN || number > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(number);
}

struct Marker {
  std::string_view text;
  Mode mode;
};
// Curator's, then kazoo's.
constexpr std::array kMarkers{
    Marker{"lock-", Mode::exclusive},    Marker{"__READ__", Mode::shared},
    Marker{"__WRIT__", Mode::exclusive}, Marker{"__lock__", Mode::exclusive},
    Marker{"__rlock__", Mode::shared},
};

std::string uuid_of(const ClaimId& id) {
  const std::string hex = id.hex();
  return hex.substr(0, 8) + '-' + hex.substr(8, 4) + '-' + hex.substr(12, 4) + '-' +
         hex.substr(16, 4) + '-' + hex.substr(20);
}

std::optional<ClaimId> claim_of(std::string_view uuid) {
  std::string hex;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (uuid[i] == '-')) return std::nullopt;
    if (!dash) hex += uuid[i];
  }
  return ClaimId::from_hex(hex);
}

// Reads Holdfast's own part, between the uuid and the marker.
void parse_ours(std::string_view head, ClaimNode& node) {
  constexpr std::size_t kUuid = 36;
  if (!head.starts_with(kHead) || head.size() < kHead.size() + kUuid + kOurs.size()) return;
  const std::optional<ClaimId> claim = claim_of(head.substr(kHead.size(), kUuid));
  std::string_view rest = head.substr(kHead.size() + kUuid);
  if (!claim || !rest.starts_with(kOurs)) return;
  rest.remove_prefix(kOurs.size());
  if (rest.starts_with(kPermit)) {
    rest.remove_prefix(kPermit.size());
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), node.permits);
    if (parsed.ec != std::errc() || node.permits == 0) return;
    rest.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest.data()));
    if (!rest.starts_with('-')) return;
    rest.remove_prefix(1);
  }
  if (rest == kKept) {
    node.kept = true;
  } else if (!rest.empty()) {
    return;
  }
  if (node.permits != 0) node.mode = Mode::permit;
  node.claim = claim;
}

}  // namespace

std::optional<ClaimNode> parse_claim_node(const std::string& name) {
  ClaimNode node{.name = name, .claim = {}};
  for (const Marker& marker : kMarkers) {
    const std::size_t at = name.rfind(marker.text);
    if (at == std::string::npos) continue;
    const auto sequence = parse_sequence(std::string_view(name).substr(at + marker.text.size()));
    if (!sequence) continue;
    node.sequence = *sequence;
    node.mode = marker.mode;
    parse_ours(std::string_view(name).substr(0, at), node);
    if (!node.claim) node.permits = 0;
    return node;
  }
  // Of a recipe that we do not know: what stands in a lock's queue is taken for one who wants it.
  if (name.size() < 10) return std::nullopt;
  const auto sequence = parse_sequence(std::string_view(name).substr(name.size() - 10));
  if (!sequence) return std::nullopt;
  node.sequence = *sequence;
  return node;
}

std::string claim_node_prefix(const Claim& claim, bool kept) {
  std::string prefix = std::string(kHead) + uuid_of(claim.id) + std::string(kOurs);
  if (claim.mode == Mode::permit) {
    prefix += std::string(kPermit) + std::to_string(claim.permits) + '-';
  }
  if (kept) prefix += kKept;
  if (claim.mode == Mode::shared) return prefix + "__READ__";
  return prefix + (claim.among_readers ? "__WRIT__" : "lock-");
}

std::string kept_name(const Claim& claim, const std::string& name) {
  Claim same = claim;
  same.among_readers = name.find("__WRIT__") != std::string::npos;
  const std::size_t plain = claim_node_prefix(same, false).size();
  return claim_node_prefix(same, true) + name.substr(std::min(plain, name.size()));
}

}  // namespace holdfast::internal::zookeeper
