// Commands that are programs of their own, so that `holdfast run`, which is started often, does not load what only
// they need: the simulation, and the real servers of `torture`.
#pragma once

#include <string>
#include <vector>

#include "session.h"

namespace holdfast::cli {

struct Program {
  const char* word;  // the command
  const char* help;
  const char* file;     // beside holdfast, or in ../libexec/holdfast
  const char* package;  // of Debian
};

// Becomes that program, which gets the same words. Returns only if it cannot: the exit status.
int launch(const Program& program, const Session& session,
           const std::vector<std::string>& arguments);

}  // namespace holdfast::cli
