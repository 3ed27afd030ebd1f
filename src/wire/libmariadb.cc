#include "wire/libmariadb.h"

#include <csignal>

#include "base/eternal.h"
#include "wire/loaded_library.h"

namespace holdfast::internal {

namespace {

Loaded<LibMariadb> load_libmariadb() {
  Loaded<LibMariadb> loaded;
  LoadedLibrary library("libmariadb.so.3");
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
    loaded.problem = "libmariadb.so.3 cannot be initialised";
  }
  sigaction(SIGPIPE, &broken_pipe, nullptr);
  return loaded;
}

}  // namespace

Result<const LibMariadb*> LibMariadb::load() {
  static const Eternal<Loaded<LibMariadb>> loaded = load_libmariadb();
  return (*loaded).or_failure(
      "MySQL and MariaDB need MariaDB's client library (on Debian: apt-get install libmariadb3)");
}

}  // namespace holdfast::internal
