// LoadedLibrary: a shared library that is loaded when it is first used: linked, it would be loaded
// and relocated at every start of the command. Never unloaded, for what it made may outlast us.
#pragma once

#include <string>

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

}  // namespace holdfast::internal
