// Makes what a group shares: files of mode 0660 and directories of mode 2770. Each has its group and mode before it can
// be found by its name, whatever the umask, so nobody meets it half made; what is there already stays as it is, and
// is checked by the others' rules (ownership.h). All work on what they have opened themselves: members can put
// symbolic links under any name, and none of those is followed.
#pragma once

#include <string>

#include "engines/sqlite/shared_group.h"

namespace holdfast::internal {

inline constexpr mode_t kSharedFile = 0660;
inline constexpr mode_t kSharedDirectory = 02770;  // what is made in it gets its group

// These throw std::system_error.
void make_shared_file(const std::string& path, const SharedGroup& group);
void make_shared_directory(const std::string& path, const SharedGroup& group);
// Opens a socket of ours to the group, which bind() does not do. `path` leads to it.
void share_socket(const std::string& path);

}  // namespace holdfast::internal
