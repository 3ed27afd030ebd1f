#include "engines/memcached/reply.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::internal::memcached {

namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::uint64_t> Reply::flag(char name) const {
  std::string_view left = rest;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(' '), left.size());
    const std::string_view word = left.substr(0, end);
    if (word.starts_with(name)) return number_of(word.substr(1));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return std::nullopt;
}

bool ReplyParser::feed(std::string_view bytes, const std::function<void(Reply&&)>& on_reply,
                       std::string& problem) {
  while (!bytes.empty()) {
    const bool whole = in_value_ ? take_value(bytes, problem) : take_line(bytes, problem);
    if (!problem.empty()) return false;
    if (!whole) continue;
    on_reply(std::move(reply_));
    reply_.value.clear();
    reply_.cut = false;
  }
  return true;
}

bool ReplyParser::take_line(std::string_view& bytes, std::string& problem) {
  const std::size_t end = bytes.find('\n');
  const bool ended = end != std::string_view::npos;
  const std::string_view part = bytes.substr(0, ended ? end : bytes.size());
  if (line_.size() + part.size() > kMaxLine) {
    problem = "a line without an end";
    return false;
  }
  bytes.remove_prefix(ended ? end + 1 : bytes.size());
  if (!ended) {
    line_ += part;
    return false;
  }
  std::string_view line = part;
  if (!line_.empty()) line = line_.append(part);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t space = std::min(line.find(' '), line.size());
  reply_.status = line.substr(0, space);
  reply_.rest = line.substr(std::min(space + 1, line.size()));
  line_.clear();
  if (reply_.status.empty()) {
    problem = "an empty line";
    return false;
  }
  if (!reply_.is("VA")) return true;
  // "VA SIZE flags".
  const std::size_t after = std::min(reply_.rest.find(' '), reply_.rest.size());
  const std::optional<std::uint64_t> size =
      number_of(std::string_view(reply_.rest).substr(0, after));
  constexpr std::uint64_t kMaxPossible = std::uint64_t{1} << 32;
  if (!size || *size > kMaxPossible) {
    problem = "a value without a size";
    return false;
  }
  reply_.rest.erase(0, std::min(after + 1, reply_.rest.size()));
  in_value_ = true;
  missing_ = *size + 2;
  reply_.cut = *size > kMaxValue;
  return false;
}

bool ReplyParser::take_value(std::string_view& bytes, std::string& problem) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(missing_, bytes.size()));
  std::string_view part = bytes.substr(0, size);
  bytes.remove_prefix(size);
  // The last two bytes are the line end.
  while (!part.empty()) {
    if (missing_ > 2) {
      const auto data =
          static_cast<std::size_t>(std::min<std::uint64_t>(missing_ - 2, part.size()));
      const std::size_t room = kMaxValue - reply_.value.size();
      reply_.value += part.substr(0, std::min(data, room));
      part.remove_prefix(data);
      missing_ -= data;
      continue;
    }
    if (part.front() != (missing_ == 2 ? '\r' : '\n')) {
      problem = "a value that does not end where it should";
      return false;
    }
    part.remove_prefix(1);
    --missing_;
  }
  if (missing_ > 0) return false;
  in_value_ = false;
  return true;
}

}  // namespace holdfast::internal::memcached
