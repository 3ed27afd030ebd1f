#include "engines/zookeeper/jute.h"

namespace holdfast::internal::zookeeper {

void JuteWriter::bytes(std::string_view value) {
  int32(static_cast<std::int32_t>(value.size()));
  out_ += value;
}

void JuteWriter::strings(const std::vector<std::string>& values) {
  int32(static_cast<std::int32_t>(values.size()));
  for (const std::string& value : values) bytes(value);
}

std::string_view JuteReader::take(std::size_t size) {
  if (!sound_ || bytes_.size() < size) {
    sound_ = false;
    return {};
  }
  const std::string_view taken = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return taken;
}

bool JuteReader::boolean() {
  const std::string_view byte = take(1);
  return !byte.empty() && byte.front() != '\0';
}

std::string_view JuteReader::bytes() {
  const std::int32_t size = int32();
  if (size == -1) return {};
  if (size < 0) {
    sound_ = false;
    return {};
  }
  return take(static_cast<std::size_t>(size));
}

std::vector<std::string> JuteReader::strings() {
  std::vector<std::string> values;
  const std::int32_t count = int32();
  if (count == -1) return values;
  // Each has a length of four bytes at least: a count that cannot be is not worth our memory.
  if (count < 0 || static_cast<std::size_t>(count) > bytes_.size() / 4) {
    sound_ = false;
    return values;
  }
  values.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count && sound_; ++i) values.emplace_back(bytes());
  return values;
}

bool PacketCutter::feed(std::string_view bytes,
                        const std::function<void(std::string_view)>& on_packet) {
  constexpr std::size_t kLength = 4;
  if (!waiting_.empty()) {
    waiting_ += bytes;
    bytes = waiting_;
  }
  while (bytes.size() >= kLength) {
    JuteReader reader(bytes);
    const std::int32_t size = reader.int32();
    if (size < 0 || size > kLongest) return false;
    const auto whole = kLength + static_cast<std::size_t>(size);
    if (bytes.size() < whole) break;
    on_packet(bytes.substr(kLength, static_cast<std::size_t>(size)));
    bytes.remove_prefix(whole);
  }
  // (`bytes` may lie in `waiting_`.)
  std::string rest(bytes);
  waiting_.swap(rest);
  return true;
}

}  // namespace holdfast::internal::zookeeper
