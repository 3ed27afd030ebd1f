// The engines that are built in, by URL scheme.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/url.h"
#include "holdfast/engine.h"
#include "holdfast/options.h"

namespace holdfast::internal {

// Another engine that the same scheme opens, when its URL says so.
struct OtherRecipe {
  std::string example_url;
  Guarantees guarantees;
};

struct EngineEntry {
  std::vector<std::string> schemes;
  std::string example_url;
  Guarantees guarantees;  // of the default recipe
  Result<std::unique_ptr<Engine>> (*open)(const Url&, Runtime&, const ClientOptions&);
  // The statements that make its tables; null if it has none, or makes them in any case.
  Result<std::vector<std::string>> (*schema)(const Url&) = nullptr;
  std::vector<OtherRecipe> others{};
};

const std::vector<EngineEntry>& built_in_engines();

// Why there is none for this URL: left out of the build, or unknown.
Failure no_engine(const Url& url);

Result<std::unique_ptr<Engine>> open_engine(const Url& url, Runtime& runtime,
                                            const ClientOptions& options);

Result<std::vector<std::string>> schema_of(const Url& url);

}  // namespace holdfast::internal
