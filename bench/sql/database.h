// Database: a database server of the benchmark's own, and what is compared on it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "raw.h"
#include "samples.h"

namespace holdfast::bench {

class Database {
 public:
  virtual ~Database() = default;
  virtual std::string url(const std::string& options) const = 0;  // as Holdfast has it
  virtual int port() const = 0;
  // Empty if they come and go, and what they used cannot be told.
  virtual std::vector<pid_t> processes() const = 0;
  // What clients have asked so far: statements (MySQL), transactions (PostgreSQL).
  virtual double queries() const = 0;
  // How long it may take until it has counted what was asked.
  virtual Seconds counts_within() const = 0;
};

// Holdfast with these options in the URL, beside the raw statements of a kind (raw.h).
struct Side {
  std::string name;     // in JSON
  std::string what;     // for people
  std::string options;  // "recipe=named&tokens=no"
  std::string raw;      // "named"
  std::optional<double> bar;
};

struct SqlSystem {
  std::string title;        // "MariaDB"
  std::string query_what;   // "statements"
  std::vector<Side> pairs;  // bars: pairs a second, at least so many of the raw ones
  // Who waits blocks in the server. Bars: p50, at most so many of the raw one.
  std::vector<Side> blocking;
  // What blocks in the server by a name, in the comparison of all.
  std::string named_recipe;  // "advisory"
  std::string named_what;    // "pg_advisory_lock"
};

struct SqlProgram {
  const char* name;  // "bench_mysql"
  SqlSystem system;
  std::function<std::unique_ptr<Database>()> start;
  MakeRaw make_raw;
};

// The whole of main(). Ends with status 0 whatever the bars say.
int run_sql_program(const SqlProgram& program, int argc, char** argv);

}  // namespace holdfast::bench
