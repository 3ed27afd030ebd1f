#include "wire/openssl.h"

#include "base/eternal.h"
#include "wire/loaded_library.h"

namespace holdfast::internal {

namespace {

#define HOLDFAST_TEXT_OF(x) #x
#define HOLDFAST_TEXT(x) HOLDFAST_TEXT_OF(x)
constexpr const char* kLibrary = "libssl.so." HOLDFAST_TEXT(OPENSSL_SHLIB_VERSION);

struct Loaded {
  OpenSsl functions;
  std::string problem;
};

Loaded load_library() {
  Loaded loaded;
  // Also finds what libssl itself needs: the functions of libcrypto.
  LoadedLibrary library(kLibrary);
#define HOLDFAST_LOAD(name) library.find(#name, loaded.functions.name);
  HOLDFAST_OPENSSL_FUNCTIONS(HOLDFAST_LOAD)
#undef HOLDFAST_LOAD
  loaded.problem = library.problem();
  return loaded;
}

}  // namespace

Result<const OpenSsl*> OpenSsl::load() {
  static const Eternal<Loaded> eternal = load_library();
  const Loaded& loaded = eternal;
  if (loaded.problem.empty()) return &loaded.functions;
  return Failure(Code::misconfigured,
                 "TLS needs OpenSSL 3 (on Debian: apt-get install libssl3): " + loaded.problem);
}

std::string OpenSsl::last_error() const {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown error";
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  return text;
}

}  // namespace holdfast::internal
