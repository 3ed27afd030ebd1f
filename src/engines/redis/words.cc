#include "engines/redis/words.h"

#include <algorithm>
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

void Words::ensure(std::size_t more) {
  constexpr std::size_t kUsual = 224;
  if (memory_.size() < size_ + more) memory_.resize(std::max(kUsual, 2 * (size_ + more)));
}

char* Words::room_for(std::size_t size) {
  constexpr std::size_t kAround = 26;  // "$", digits of the size, and two line ends
  ensure(size + kAround);
  last_ = size_;
  char* out = memory_.data() + size_;
  *out++ = '$';
  if (size < 10) {
    *out++ = static_cast<char>('0' + size);
  } else {
    out = std::to_chars(out, out + kAround, size).ptr;
  }
  *out++ = '\r';
  *out++ = '\n';
  char* end = out + size;
  *end++ = '\r';
  *end++ = '\n';
  size_ = static_cast<std::size_t>(end - memory_.data());
  ++count_;
  return out;
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

Words& Words::repeat(char last) {
  const std::size_t size = size_ - last_;
  ensure(size);
  std::memcpy(memory_.data() + size_, memory_.data() + last_, size);
  last_ = size_;
  size_ += size;
  memory_[size_ - kEnd.size() - 1] = last;
  ++count_;
  return *this;
}

std::string_view Words::at(std::size_t index) const {
  HOLDFAST_REQUIRE(index < count());
  std::size_t offset = 0;
  while (index-- > 0) offset = extent_at(bytes(), offset).next();
  const Extent word = extent_at(bytes(), offset);
  return bytes().substr(word.begin, word.size);
}

std::string_view Words::first(std::size_t count) const {
  if (count >= count_) return bytes();
  std::size_t offset = 0;
  while (count-- > 0) offset = extent_at(bytes(), offset).next();
  return bytes().substr(0, offset);
}

std::string encode(const Words& words) {
  std::string command = "*" + std::to_string(words.count()) + "\r\n";
  command += words.bytes();
  return command;
}

}  // namespace holdfast::internal::redis
