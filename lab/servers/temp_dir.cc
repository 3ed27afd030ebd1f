#include "temp_dir.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace holdfast::test {

namespace {

std::filesystem::path parent_folder() {
  const char* const chosen = std::getenv("HOLDFAST_SERVER_DATA");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  const std::filesystem::path memory = "/dev/shm";
  return access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

}  // namespace

TempDir::TempDir() : owner_(getpid()) {
  const std::filesystem::path parent = parent_folder();
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
