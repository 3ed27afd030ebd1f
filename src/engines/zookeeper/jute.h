// Jute: how ZooKeeper writes values as bytes. Big-endian numbers, buffers with their length in
// front. Every packet on the wire has its own length in front of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::internal::zookeeper {

// Appends values to a string.
class JuteWriter {
 public:
  explicit JuteWriter(std::string& out) : out_(out) {}

  void boolean(bool value) { out_ += value ? '\1' : '\0'; }
  void int32(std::int32_t value) { number(static_cast<std::uint32_t>(value)); }
  void int64(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  // Both a string and a buffer.
  void bytes(std::string_view value);
  void strings(const std::vector<std::string>& values);

 private:
  template <class T>
  void number(T value) {
    for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
      out_ += static_cast<char>(value >> shift);
    }
  }

  std::string& out_;
};

// Takes values from the front of bytes that a server sent. After the first that is not there, or
// makes no sense, sound() is false and all that follow are empty or 0.
class JuteReader {
 public:
  explicit JuteReader(std::string_view bytes) : bytes_(bytes) {}

  bool sound() const { return sound_; }
  // Nothing is left, and all that was taken made sense.
  bool done() const { return sound_ && bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }
  // The caller cannot make sense of what it read.
  void refuse() { sound_ = false; }

  bool boolean();
  std::int32_t int32() { return static_cast<std::int32_t>(number<std::uint32_t>()); }
  std::int64_t int64() { return static_cast<std::int64_t>(number<std::uint64_t>()); }
  // A length of -1 is Java's null: empty here.
  std::string_view bytes();
  std::vector<std::string> strings();

 private:
  std::string_view take(std::size_t size);
  template <class T>
  T number() {
    T value = 0;
    for (const char byte : take(sizeof(T))) {
      value = static_cast<T>(value << 8 | static_cast<unsigned char>(byte));
    }
    return value;
  }

  std::string_view bytes_;
  bool sound_ = true;
};

// Cuts a stream of bytes into packets; the bytes may come in any pieces.
class PacketCutter {
 public:
  // A list of the claims of a very long queue; a server gives up at 1 MB by itself unless it is
  // told otherwise.
  static constexpr std::int32_t kLongest = 64 << 20;

  // False if the bytes cannot be packets; nothing more can be cut then.
  bool feed(std::string_view bytes, const std::function<void(std::string_view)>& on_packet);

 private:
  std::string waiting_;  // the beginning of a packet whose end has not come
};

}  // namespace holdfast::internal::zookeeper
