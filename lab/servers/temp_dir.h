// TempDir: a directory of its own, in memory where there is such a thing, or in the folder that
// HOLDFAST_SERVER_DATA names; removed at the end.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace holdfast::test {

class TempDir {
 public:
  TempDir();
  ~TempDir();  // in a forked child it removes nothing
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  pid_t owner_;
};

}  // namespace holdfast::test
