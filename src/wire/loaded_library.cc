#include "wire/loaded_library.h"

#include <dlfcn.h>

namespace holdfast::internal {

LoadedLibrary::LoadedLibrary(const char* file)
    : file_(file), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) problem_ = dlerror();
}

void* LoadedLibrary::address_of(const char* name) {
  if (!handle_) return nullptr;
  void* const address = dlsym(handle_, name);
  if (!address) problem_ = std::string(file_) + " has no " + name;
  return address;
}

}  // namespace holdfast::internal
