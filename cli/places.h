// Places: the engines that a command looks at, when it may be several. Each --on is one: URL, @FILE, NAME=URL or NAME=@FILE.
#pragma once

#include <string>
#include <vector>

#include "session.h"

namespace holdfast::cli {

struct Place {
  std::string name;   // NAME, else the scheme of the URL: "redis", the next "redis-2"
  std::string url;    // empty: the library's default
  std::string given;  // the word of --on without NAME= and secrets; empty: it was not given
};

// Of a URL, in lower case; of an empty one, that of the library's default.
std::string scheme_of(const std::string& url);

// At least one. invalid_argument if two have the same NAME.
Result<std::vector<Place>> places_of(const Session& session);

}  // namespace holdfast::cli
