// Url: where an engine is, and how to reach it.
//   scheme://user:password@host1:port,host2:port/path?key=value&key=value
//   scheme:path?key=value                         (without an authority)
// Percent-escapes are decoded in user, password, path and values. A URL with hosts must escape / and ?
// in its login, # and @ everywhere else: otherwise nobody could tell where a password ends, and a
// part of it would be shown as a host or a path. redacted() (holdfast/text.h) splits by the same
// code.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "holdfast/text.h"

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

}  // namespace holdfast::internal
