// LoadedLibrary: a shared library that is loaded when it is first used: linked, it would be loaded
// and relocated at every start of the command. Never unloaded, for what it made may outlast us.
#pragma once

#include <string>

#include "holdfast/result.h"

namespace holdfast::internal {

class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* file);

  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(address_of(name));
  }
  // Why it cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }

 private:
  void* address_of(const char* name);

  const char* file_;
  void* handle_;
  std::string problem_;
};

// The functions of such a library, or why there are none.
template <class Functions>
struct Loaded {
  // `needs` says for what the library is needed, and how to install it.
  Result<const Functions*> or_failure(const char* needs) const {
    if (problem.empty()) return &functions;
    return Failure(Code::misconfigured, std::string(needs) + ": " + problem);
  }

  Functions functions;
  std::string problem;  // empty if there is none
};

}  // namespace holdfast::internal
