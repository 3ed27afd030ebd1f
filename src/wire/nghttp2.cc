#include "wire/nghttp2.h"

#include "base/eternal.h"
#include "wire/loaded_library.h"

namespace holdfast::internal {

namespace {

// The only version of its interface that there has ever been since 2015.
constexpr const char* kLibrary = "libnghttp2.so.14";

struct Loaded {
  Nghttp2 functions;
  std::string problem;
};

Loaded load_library() {
  Loaded loaded;
  LoadedLibrary library(kLibrary);
#define HOLDFAST_LOAD(name) library.find(#name, loaded.functions.name);
  HOLDFAST_NGHTTP2_FUNCTIONS(HOLDFAST_LOAD)
#undef HOLDFAST_LOAD
  loaded.problem = library.problem();
  return loaded;
}

}  // namespace

Result<const Nghttp2*> Nghttp2::load() {
  static const Eternal<Loaded> eternal = load_library();
  const Loaded& loaded = eternal;
  if (loaded.problem.empty()) return &loaded.functions;
  return Failure(
      Code::misconfigured,
      "gRPC needs nghttp2 (on Debian: apt-get install libnghttp2-14): " + loaded.problem);
}

}  // namespace holdfast::internal
