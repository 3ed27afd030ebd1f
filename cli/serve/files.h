// Files: what the daemon serves as it is: the page, and the description of the API. They are part of the program.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli::serve {

struct File {
  std::string_view path;  // "page/app.js"
  std::string_view content_type;
  std::string_view content;
};

// Null if there is none.
const File* find_file(std::string_view path);

}  // namespace holdfast::cli::serve
