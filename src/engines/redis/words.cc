#include "engines/redis/words.h"

#include <array>
#include <charconv>
#include <cstring>

#include "base/require.h"

namespace holdfast::internal::redis {

namespace {

constexpr std::string_view kEnd = "\r\n";

// A word inside its encoding "$5\r\nhello\r\n".
struct Extent {
  std::size_t begin;
  std::size_t size;
  std::size_t next() const { return begin + size + kEnd.size(); }
};

// The word whose encoding begins at `offset`.
Extent extent_at(std::string_view bytes, std::size_t offset) {
  std::size_t size = 0;
  const auto digits = std::from_chars(&bytes[offset + 1], bytes.data() + bytes.size(), size);
  return {static_cast<std::size_t>(digits.ptr - bytes.data()) + kEnd.size(), size};
}

}  // namespace

Words::Words(std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) add(word);
}

char* Words::room_for(std::size_t size) {
  constexpr std::size_t kUsual = 224;
  if (bytes_.empty()) bytes_.reserve(kUsual);
  std::array<char, 26> head;
  head.front() = '$';
  char* end = std::to_chars(head.data() + 1, head.data() + head.size() - 2, size).ptr;
  *end++ = '\r';
  *end++ = '\n';
  const auto head_size = static_cast<std::size_t>(end - head.data());
  const std::size_t before = bytes_.size();
  bytes_.resize(before + head_size + size + kEnd.size(), '\n');
  char* out = bytes_.data() + before;
  std::memcpy(out, head.data(), head_size);
  out[head_size + size] = '\r';
  ++count_;
  return out + head_size;
}

Words& Words::add(std::string_view word) {
  char* out = room_for(word.size());
  if (!word.empty()) std::memcpy(out, word.data(), word.size());
  return *this;
}

Words& Words::join(std::initializer_list<std::string_view> pieces) {
  std::size_t size = 0;
  for (const std::string_view piece : pieces) size += piece.size();
  char* out = room_for(size);
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) std::memcpy(out, piece.data(), piece.size());
    out += piece.size();
  }
  return *this;
}

std::string_view Words::at(std::size_t index) const {
  HOLDFAST_REQUIRE(index < count());
  std::size_t offset = 0;
  while (index-- > 0) offset = extent_at(bytes_, offset).next();
  const Extent word = extent_at(bytes_, offset);
  return bytes().substr(word.begin, word.size);
}

std::string_view Words::first(std::size_t count) const {
  if (count >= count_) return bytes_;
  std::size_t offset = 0;
  while (count-- > 0) offset = extent_at(bytes_, offset).next();
  return bytes().substr(0, offset);
}

std::string encode(const Words& words) {
  std::string command = "*" + std::to_string(words.count()) + "\r\n";
  command += words.bytes();
  return command;
}

}  // namespace holdfast::internal::redis
