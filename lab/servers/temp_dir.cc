#include "temp_dir.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace holdfast::test {

TempDir::TempDir() : owner_(getpid()) {
  const std::filesystem::path memory = "/dev/shm";
  const bool in_memory = access(memory.c_str(), W_OK) == 0;
  const auto parent = in_memory ? memory : std::filesystem::temp_directory_path();
  // Short: the path of a Unix socket in it has room for 107 characters.
  std::string pattern = (parent / "holdfast-server-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), pattern);
  }
  path_ = pattern;
}

TempDir::~TempDir() {
  if (getpid() != owner_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::test
