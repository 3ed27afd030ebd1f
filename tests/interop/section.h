// The data that the lock protects in these tests: files that any language can use, and that show when two
// were inside at once. peers/peer.mjs and peers/redis_py_peer.py do the same in their languages.
//
//   FILE          a number; each pass reads it, adds one and writes it back, not in one step
//   FILE.inside   is there while somebody is inside; made with O_EXCL, so nobody overlooks it
//   FILE.log      a letter per pass, who it was, in order; '!' before a pass that was not alone
//   FILE.go       all begin when it is there
#pragma once

#include <filesystem>

namespace holdfast::interop {

class Section {
 public:
  explicit Section(std::filesystem::path file) : file_(std::move(file)) {}

  void await_go() const;
  // Goes through the section once. Throws std::system_error if the files cannot be used.
  void pass(char who) const;

 private:
  std::filesystem::path beside(const char* suffix) const;

  std::filesystem::path file_;
};

}  // namespace holdfast::interop
