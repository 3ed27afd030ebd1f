// Reply: what a memcached server answered to one meta command, and the parser that makes replies of
// bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::internal::memcached {

// One line, "STATUS rest", and after VA a value.
//
//   HD  done                 VA  the value follows       EN  there is no such item
//   MN  nothing was asked    EX  another cas by now      NF  there is no such item
//   STORED, NOT_STORED, EXISTS, NOT_FOUND: of add and cas
//   ERROR, CLIENT_ERROR, SERVER_ERROR
struct Reply {
  std::string status;
  std::string rest;   // flags, or the text of an error
  std::string value;  // of VA
  bool cut = false;   // the value was longer than kMaxValue, and only so much of it is here

  bool is(std::string_view word) const { return status == word; }
  bool is_error() const { return status.ends_with("ERROR"); }
  // The number behind a flag: 7 for 'c' in "c7 t-1". Nothing if there is none, or no number.
  std::optional<std::uint64_t> flag(char name) const;
  // For messages.
  std::string text() const { return rest.empty() ? status : status + ' ' + rest; }
};

// Bytes in, replies out; the bytes may come in any pieces. It never keeps more than the bounds
// below, whatever the server says.
class ReplyParser {
 public:
  // Twice a key of 250 bytes that is written with % escapes in a dump, and what stands behind it.
  static constexpr std::size_t kMaxLine = 2048;
  // Our own words are shorter. A foreign item can be larger; it is not worth our memory.
  static constexpr std::size_t kMaxValue = 64 * 1024;

  // False if the bytes are not the protocol; `problem` says why, and nothing more can be parsed.
  bool feed(std::string_view bytes, const std::function<void(Reply&&)>& on_reply,
            std::string& problem);

 private:
  // Each takes from the front of `bytes`, and returns true if it got all it waited for.
  bool take_line(std::string_view& bytes, std::string& problem);
  bool take_value(std::string_view& bytes, std::string& problem);

  std::string line_;  // the part of a line that has come
  Reply reply_;       // whose value is awaited
  bool in_value_ = false;
  std::uint64_t missing_ = 0;  // bytes of the value, with its line end
};

}  // namespace holdfast::internal::memcached
