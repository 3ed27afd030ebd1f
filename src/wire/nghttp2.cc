#include "wire/nghttp2.h"

#include "base/eternal.h"
#include "wire/loaded_library.h"

namespace holdfast::internal {

namespace {

Loaded<Nghttp2> load_nghttp2() {
  Loaded<Nghttp2> loaded;
  // The only version of its interface since 2015.
  LoadedLibrary library("libnghttp2.so.14");
#define HOLDFAST_LOAD(name) library.find(#name, loaded.functions.name);
  HOLDFAST_NGHTTP2_FUNCTIONS(HOLDFAST_LOAD)
#undef HOLDFAST_LOAD
  loaded.problem = library.problem();
  return loaded;
}

}  // namespace

Result<const Nghttp2*> Nghttp2::load() {
  static const Eternal<Loaded<Nghttp2>> loaded = load_nghttp2();
  return (*loaded).or_failure("gRPC needs nghttp2 (on Debian: apt-get install libnghttp2-14)");
}

}  // namespace holdfast::internal
