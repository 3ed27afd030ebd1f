// Reply: what a Redis server answered, and the parser that makes replies of bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace holdfast::internal::redis {

struct Reply {
  enum class Kind { nil, status, error, integer, bulk, array };
  Kind kind = Kind::nil;
  std::int64_t number = 0;
  std::string text;
  std::vector<Reply> items;

  bool is_number(std::int64_t value) const { return kind == Kind::integer && number == value; }
  bool is_error() const { return kind == Kind::error; }
  // "NOSCRIPT", "MOVED": whether it is an error that begins so.
  bool is_error(std::string_view word) const { return is_error() && text.starts_with(word); }
  // The item of an array; a nil reply if there is none.
  const Reply& at(std::size_t index) const;
  // The number in an integer, or in text that is one; 0 otherwise.
  std::int64_t as_number() const;
};

// Bytes in, replies out; the bytes may come in any pieces.
class ReplyParser {
 public:
  ReplyParser();
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // False if the bytes are not the protocol; `problem` says why, and nothing more can be parsed.
  bool feed(std::string_view bytes, const std::function<void(Reply&&)>& on_reply,
            std::string& problem);

 private:
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

}  // namespace holdfast::internal::redis
