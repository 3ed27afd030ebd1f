#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "engines.h"

namespace holdfast::contract {

TempDir::TempDir() {
  const std::filesystem::path memory = "/dev/shm";
  const bool in_memory = access(memory.c_str(), W_OK) == 0;
  const auto parent = in_memory ? memory : std::filesystem::temp_directory_path();
  std::string pattern = (parent / "holdfast-contract-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), pattern);
  }
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::contract
