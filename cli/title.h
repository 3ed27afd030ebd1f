// The line that ps and pkill -f show for a process: the memory of its arguments.
// Thread safety: none; for main() and for processes that were just forked.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace holdfast::cli {

struct TitleRoom {
  char* begin = nullptr;
  std::size_t size = 0;
};
inline TitleRoom title_room;

// REQUIRES: what main() got, before anybody has moved the pointers.
inline void remember_title_room(int argc, char** argv) {
  if (argc == 0) return;
  title_room.begin = argv[0];
  for (int i = 0; i < argc; ++i) {
    if (argv[i] != title_room.begin + title_room.size) return;  // Not one after the other.
    title_room.size += std::strlen(argv[i]) + 1;
  }
}

inline void set_title(std::string_view title) {
  if (title_room.size == 0) return;
  std::memset(title_room.begin, 0, title_room.size);
  title.substr(0, title_room.size - 1).copy(title_room.begin, title_room.size - 1);
}

}  // namespace holdfast::cli
