#include "wire/libpq.h"

#include "base/eternal.h"
#include "wire/loaded_library.h"

namespace holdfast::internal {

namespace {

constexpr const char* kLibrary = "libpq.so.5";

struct Loaded {
  LibPq functions;
  std::string problem;
};

Loaded load_library() {
  Loaded loaded;
  LoadedLibrary library(kLibrary);
#define HOLDFAST_LOAD(name) library.find(#name, loaded.functions.name);
  HOLDFAST_LIBPQ_FUNCTIONS(HOLDFAST_LOAD)
#undef HOLDFAST_LOAD
  loaded.problem = library.problem();
  return loaded;
}

}  // namespace

Result<const LibPq*> LibPq::load() {
  static const Eternal<Loaded> eternal = load_library();
  const Loaded& loaded = eternal;
  if (loaded.problem.empty()) return &loaded.functions;
  return Failure(
      Code::misconfigured,
      "PostgreSQL needs libpq, version 14 or newer (on Debian: apt-get install libpq5): " +
          loaded.problem);
}

}  // namespace holdfast::internal
