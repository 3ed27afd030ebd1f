// Url: where an engine is, and how to reach it.
//   scheme://user:password@host1:port,host2:port/path?key=value&key=value
//   scheme:path?key=value                         (without an authority)
// Percent-escapes are decoded in user, password, path and values.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::internal {

struct Url {
  std::string scheme;
  std::string user;
  std::string password;
  std::string hosts;  // as written; the engine splits it
  std::string path;
  bool has_authority = false;  // "//" followed the scheme
  std::map<std::string, std::string> query;

  static Result<Url> parse(std::string_view text);
};

// The URL with its password replaced by ***, for messages. Works on anything, also on what does
// not parse.
std::string redacted(std::string_view url);

}  // namespace holdfast::internal
