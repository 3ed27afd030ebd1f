#include "wire/libpq.h"

#include <dlfcn.h>

namespace holdfast::internal {

namespace {

constexpr const char* kLibrary = "libpq.so.5";

struct Loaded {
  LibPq functions;
  std::string problem;
};

Loaded load_library() {
  Loaded loaded;
  // Never unloaded: TLS sessions of its may outlast us.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    loaded.problem = dlerror();
    return loaded;
  }
#define HOLDFAST_LOAD(name)                                                           \
  loaded.functions.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (!loaded.functions.name) loaded.problem = std::string(kLibrary) + " has no " + #name;
  HOLDFAST_LIBPQ_FUNCTIONS(HOLDFAST_LOAD)
#undef HOLDFAST_LOAD
  return loaded;
}

}  // namespace

Result<const LibPq*> LibPq::load() {
  static const Loaded loaded = load_library();
  if (loaded.problem.empty()) return &loaded.functions;
  return Failure(
      Code::misconfigured,
      "PostgreSQL needs libpq, version 14 or newer (on Debian: apt-get install libpq5): " +
          loaded.problem);
}

}  // namespace holdfast::internal
