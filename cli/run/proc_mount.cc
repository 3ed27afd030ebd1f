#include "proc_mount.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace holdfast::cli {
namespace {

// "NSpid:\t17\t3": our number in the namespace of /proc, then in each one below it down to our own.
// One number: they are the same namespace, also where the numbers happen to be equal.
bool shows_own_namespace() {
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[4096];
  const ssize_t got = read(file, text, sizeof text);
  close(file);
  std::string_view status(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t at = status.find("\nNSpid:\t");
  if (at == std::string_view::npos) return true;  // Linux before 4.1.
  status.remove_prefix(at + 8);
  return status.substr(0, status.find('\n')).find('\t') == std::string_view::npos;
}

}  // namespace

std::optional<std::string> problem_with_proc() {
  struct statfs mounted{};
  char self[32];
  const ssize_t length = readlink("/proc/self", self, sizeof self - 1);
  if (length <= 0 || statfs("/proc", &mounted) != 0 || mounted.f_type != PROC_SUPER_MAGIC) {
    return "/proc is not mounted, and without it the processes of the command cannot be found; "
           "mount it (mount -t proc proc /proc), or use --isolate";
  }
  self[length] = '\0';
  if (std::atoi(self) == getpid() && shows_own_namespace()) return std::nullopt;
  return "/proc belongs to another pid namespace, where our numbers are other processes; mount "
         "our own (mount -t proc proc /proc, or unshare --pid --fork --mount-proc), or use "
         "--isolate";
}

}  // namespace holdfast::cli
