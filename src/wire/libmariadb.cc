#include "wire/libmariadb.h"

#include <csignal>

#include "base/eternal.h"
#include "wire/loaded_library.h"

namespace holdfast::internal {

namespace {

constexpr const char* kLibrary = "libmariadb.so.3";

struct Loaded {
  LibMariadb functions;
  std::string problem;
};

Loaded load_library() {
  Loaded loaded;
  LoadedLibrary library(kLibrary);
#define HOLDFAST_LOAD(name) library.find(#name, loaded.functions.name);
  HOLDFAST_MARIADB_FUNCTIONS(HOLDFAST_LOAD)
#undef HOLDFAST_LOAD
  loaded.problem = library.problem();
  if (!loaded.problem.empty()) return loaded;
  // Once, before there are several threads in it. It makes the whole process ignore SIGPIPE, which
  // is not ours to decide.
  struct sigaction broken_pipe{};
  sigaction(SIGPIPE, nullptr, &broken_pipe);
  if (loaded.functions.mysql_server_init(0, nullptr, nullptr) != 0) {
    loaded.problem = std::string(kLibrary) + " cannot be initialised";
  }
  sigaction(SIGPIPE, &broken_pipe, nullptr);
  return loaded;
}

}  // namespace

Result<const LibMariadb*> LibMariadb::load() {
  static const Eternal<Loaded> eternal = load_library();
  const Loaded& loaded = eternal;
  if (loaded.problem.empty()) return &loaded.functions;
  return Failure(
      Code::misconfigured,
      "MySQL and MariaDB need MariaDB's client library (on Debian: apt-get install libmariadb3): " +
          loaded.problem);
}

}  // namespace holdfast::internal
