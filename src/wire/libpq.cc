#include "wire/libpq.h"

#include "base/eternal.h"
#include "wire/loaded_library.h"

namespace holdfast::internal {

namespace {

Loaded<LibPq> load_libpq() {
  Loaded<LibPq> loaded;
  LoadedLibrary library("libpq.so.5");
#define HOLDFAST_LOAD(name) library.find(#name, loaded.functions.name);
  HOLDFAST_LIBPQ_FUNCTIONS(HOLDFAST_LOAD)
#undef HOLDFAST_LOAD
  loaded.problem = library.problem();
  return loaded;
}

}  // namespace

Result<const LibPq*> LibPq::load() {
  static const Eternal<Loaded<LibPq>> loaded = load_libpq();
  return (*loaded).or_failure(
      "PostgreSQL needs libpq, version 14 or newer (on Debian: apt-get install libpq5)");
}

}  // namespace holdfast::internal
