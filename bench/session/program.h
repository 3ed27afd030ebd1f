// The program of a benchmark of a system whose clients keep sessions.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "system.h"

namespace holdfast::bench {

struct Program {
  const char* name;  // "bench_zookeeper"
  System system;     // without our_command and raw_command: they are this program itself
  std::function<std::unique_ptr<Servers>(int nodes)> start;
  std::function<int(const std::string& url)> be_raw_worker;
};

// The whole of main(). Ends with status 0 whatever the bars say.
int run_program(Program program, int argc, char** argv);

}  // namespace holdfast::bench
