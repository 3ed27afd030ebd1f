#include "launch.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace holdfast::cli {

int launch(const Program& program, const Session& session,
           const std::vector<std::string>& arguments) {
  std::error_code ignored;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::string> words{"holdfast"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int error = ENOENT;
  for (const char* folder : {".", "../libexec/holdfast"}) {
    execv((here / folder / program.file).c_str(), pointers.data());
    if (errno != ENOENT) error = errno;
  }
  return session.fail("misconfigured",
                      std::string("cannot run ") + program.file + " (" + std::strerror(error) +
                          "); it should be beside holdfast or in ../libexec/holdfast: install the "
                          "package " +
                          program.package + ", or build all of Holdfast",
                      kMisconfigured);
}

}  // namespace holdfast::cli
