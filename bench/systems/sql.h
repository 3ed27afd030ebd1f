// The comparisons on PostgreSQL and MySQL: each recipe beside the bare statements that it stands on.
#pragma once

#include <string>
#include <vector>

#include "simple_worker.h"
#include "system.h"

namespace holdfast::bench {

// `url_of` has the options of Holdfast's URL; `raw_url` ends with the port.
std::vector<Division> sql_divisions(const std::string& system, const std::string& named_recipe,
                                    const std::string& named_statement,
                                    const std::function<std::string(const std::string&)>& url_of,
                                    int port);

// A worker on the raw statements of "KIND:PORT".
using MakeSqlRaw = std::unique_ptr<SimpleLock> (*)(const std::string& kind, int port,
                                                   const std::string& name);
int be_sql_raw_worker(MakeSqlRaw make, const std::string& what);

}  // namespace holdfast::bench
