#include "engines/registry.h"

#include "engines/sqlite/sqlite_engine.h"

namespace holdfast::internal {

const std::vector<EngineEntry>& built_in_engines() {
  static const std::vector<EngineEntry> entries{
      {"sqlite", "sqlite:///var/lib/app/locks.db", sqlite_guarantees(), &open_sqlite_engine},
  };
  return entries;
}

Result<std::unique_ptr<Engine>> open_engine(const Url& url, Runtime& runtime,
                                            const ClientOptions& options) {
  std::string known;
  for (const EngineEntry& entry : built_in_engines()) {
    if (entry.scheme == url.scheme) return entry.open(url, runtime, options);
    known += (known.empty() ? "" : ", ") + entry.scheme;
  }
  return Failure(Code::invalid_argument, "no engine for the scheme '" + url.scheme +
                                             ":' in this build; there is: " + known);
}

}  // namespace holdfast::internal
