#include "clock_shim_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

// The library, byte for byte.
asm(R"(
  .section .rodata
  .global holdfast_clock_shim_begin
  .global holdfast_clock_shim_end
holdfast_clock_shim_begin:
  .incbin ")" HOLDFAST_CLOCK_SHIM R"("
holdfast_clock_shim_end:
  .byte 0
  .previous
)");
extern "C" const char holdfast_clock_shim_begin[];
extern "C" const char holdfast_clock_shim_end[];

namespace holdfast::test {
namespace {

// Not in /dev/shm, where a container may forbid to run anything.
class ShimFile {
 public:
  ShimFile() : owner_(getpid()) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "holdfast-clock-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail(pattern);
    folder_ = pattern;
    chmod(folder_.c_str(), 0755);  // A server may run as somebody else.
    std::ofstream file(path(), std::ios::binary);
    file.write(holdfast_clock_shim_begin, holdfast_clock_shim_end - holdfast_clock_shim_begin);
    file.close();
    if (!file) fail(path());
    chmod(path().c_str(), 0755);
  }
  ~ShimFile() {
    std::error_code ignored;
    if (getpid() == owner_) std::filesystem::remove_all(folder_, ignored);
  }
  ShimFile(const ShimFile&) = delete;
  ShimFile& operator=(const ShimFile&) = delete;

  std::string path() const { return (folder_ / "clock_shim.so").string(); }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
  }

  pid_t owner_;
  std::filesystem::path folder_;
};

}  // namespace

std::string clock_shim_file() {
  static const ShimFile file;
  return file.path();
}

}  // namespace holdfast::test
