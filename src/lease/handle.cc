#include <charconv>
#include <vector>

#include "base/text.h"
#include "holdfast/lease.h"

namespace holdfast {

namespace {

// hf1.MODE.PERMITS.TTL_NS.TOKEN.ID.NAME, all in characters that no shell minds.
constexpr std::string_view kPrefix = "hf1";

Failure malformed(const std::string& why) {
  return Failure(Code::invalid_argument,
                 "not a handle (" + why + "); expected what `holdfast acquire` printed");
}

template <class T>
bool parse_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<Mode> parse_mode(std::string_view text) {
  for (const Mode mode : {Mode::exclusive, Mode::shared, Mode::permit}) {
    if (text == std::string_view(mode_name(mode))) return mode;
  }
  return std::nullopt;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t dot = text.find('.');
    parts.push_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string Handle::text() const {
  const Claim& claim = hold_.claim;
  const std::string& name = claim.name.bytes();
  const std::span name_bytes(reinterpret_cast<const std::uint8_t*>(name.data()), name.size());
  return std::string(kPrefix) + '.' + mode_name(claim.mode) + '.' + std::to_string(claim.permits) +
         '.' + std::to_string(claim.ttl.count()) + '.' + hold_.token.str() + '.' + claim.id.hex() +
         '.' + to_hex(name_bytes);
}

Result<Handle> Handle::parse(std::string_view text) {
  const std::vector<std::string_view> parts = split(text);
  if (parts.size() != 7 || parts[0] != kPrefix) return malformed("it does not begin with hf1.");
  const std::optional<Mode> mode = parse_mode(parts[1]);
  std::uint32_t permits = 0;
  Duration::rep ttl_ns = 0;
  std::uint64_t token = 0;
  if (!mode || !parse_number(parts[2], permits) || !parse_number(parts[3], ttl_ns) ||
      !parse_number(parts[4], token)) {
    return malformed("its numbers do not parse");
  }
  constexpr Duration kLongestTtl = std::chrono::hours(24 * 365);
  if (permits == 0 || ttl_ns <= 0 || Duration(ttl_ns) > kLongestTtl) {
    return malformed("its numbers are impossible");
  }
  const std::optional<ClaimId> id = ClaimId::from_hex(parts[5]);
  const std::optional<std::string> name = bytes_from_hex(parts[6]);
  if (!id || !name || Name::problem_with(*name)) return malformed("it is cut or changed");
  Claim claim{.name = Name(*name),
              .id = *id,
              .mode = *mode,
              .permits = permits,
              .ttl = Duration(ttl_ns),
              .label = {},
              .outlives_process = true};
  return Handle(Hold{std::move(claim), Token(token)});
}

}  // namespace holdfast
