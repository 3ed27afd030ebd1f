#include "base/require.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast::internal {

void requirement_broken(const char* condition, const char* file, int line) noexcept {
  // The file's name from the source folder on: where it was built is nobody's business.
  const char* shown = file;
  for (const char* at = file; *at != '\0'; ++at) {
    if (at[0] == '/' && at[1] == 's' && at[2] == 'r' && at[3] == 'c' && at[4] == '/')
      shown = at + 1;
  }
  std::fprintf(stderr, "holdfast: a bug of Holdfast's own: %s:%d requires %s; please report it\n",
               shown, line, condition);
  std::abort();
}

}  // namespace holdfast::internal
