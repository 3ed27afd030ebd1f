#include "engines/zookeeper/node_data.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/text.h"

namespace holdfast::internal::zookeeper {

namespace {

constexpr std::string_view kFirstLine = "holdfast 1\n";
constexpr std::string_view kLabel = "label=";

template <class T>
bool parse_number(std::string_view text, T& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<SessionKey> parse_key(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::uint64_t id = 0;
  std::optional<std::string> password = bytes_from_hex(text.substr(colon + 1));
  if (!parse_number(text.substr(0, colon), id, 16) || !password) return std::nullopt;
  return SessionKey{static_cast<std::int64_t>(id), *std::move(password)};
}

std::string key_text(const SessionKey& key) {
  std::array<char, 16> id{};
  const auto end =
      std::to_chars(id.data(), id.data() + id.size(), static_cast<std::uint64_t>(key.id), 16).ptr;
  const std::span password(reinterpret_cast<const std::uint8_t*>(key.password.data()),
                           key.password.size());
  return std::string(id.data(), end) + ':' + to_hex(password);
}

}  // namespace

std::string NodeData::text() const {
  std::string text(kFirstLine);
  const auto ttl_ms = std::chrono::ceil<std::chrono::milliseconds>(ttl).count();
  text += "ttl_ms=" + std::to_string(ttl_ms) + '\n';
  if (session) text += "session=" + key_text(*session) + '\n';
  if (token) text += "token=" + token->str() + '\n';
  if (held) text += "held=1\n";
  text += kLabel;
  text += label;
  return text;
}

std::optional<NodeData> NodeData::parse(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  NodeData data;
  while (!text.starts_with(kLabel)) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return data;  // written by a later version, perhaps
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(std::min(equals + 1, line.size()));
    std::int64_t number = 0;
    std::uint64_t token = 0;
    if (key == "ttl_ms" && parse_number(value, number)) {
      data.ttl = std::chrono::milliseconds(std::clamp<std::int64_t>(number, 0, INT64_C(1) << 42));
    } else if (key == "session") {
      data.session = parse_key(value);
    } else if (key == "token" && parse_number(value, token)) {
      data.token = Token(token);
    } else if (key == "held") {
      data.held = true;
    }
  }
  data.label = text.substr(kLabel.size());
  return data;
}

std::string foreign_label(std::string_view data) {
  constexpr std::size_t kMaxLength = 80;
  std::string label = "another program";
  // Curator says its address there, kazoo its host and process.
  if (!data.empty()) label += " (" + printable(data, kMaxLength) + ")";
  return label;
}

}  // namespace holdfast::internal::zookeeper
