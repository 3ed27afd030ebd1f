#include "wire/openssl.h"

#include "base/eternal.h"
#include "wire/loaded_library.h"

namespace holdfast::internal {

namespace {

#define HOLDFAST_TEXT_OF(x) #x
#define HOLDFAST_TEXT(x) HOLDFAST_TEXT_OF(x)

Loaded<OpenSsl> load_openssl() {
  Loaded<OpenSsl> loaded;
  // Also finds what libssl itself needs: the functions of libcrypto.
  LoadedLibrary library("libssl.so." HOLDFAST_TEXT(OPENSSL_SHLIB_VERSION));
#define HOLDFAST_LOAD(name) library.find(#name, loaded.functions.name);
  HOLDFAST_OPENSSL_FUNCTIONS(HOLDFAST_LOAD)
#undef HOLDFAST_LOAD
  loaded.problem = library.problem();
  return loaded;
}

}  // namespace

Result<const OpenSsl*> OpenSsl::load() {
  static const Eternal<Loaded<OpenSsl>> loaded = load_openssl();
  return (*loaded).or_failure("TLS needs OpenSSL 3 (on Debian: apt-get install libssl3)");
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
