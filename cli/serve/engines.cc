#include "serve/engines.h"

#include "holdfast/text.h"

namespace holdfast::cli::serve {

Result<Engines> Engines::open(const Settings& settings, const ObserverOf& observer_of) {
  Engines engines;
  for (const EngineSettings& each : settings.engines) {
    Result<Client> client = Client::open(each.url, {.label = default_label(),
                                                    .observer = observer_of(each.name),
                                                    .log_from_environment = false});
    if (!client) {
      return Failure(client.code(),
                     "cannot serve the engine " + each.name + ": " + client.message());
    }
    std::string shown = each.url.empty() ? Client::default_url().value() : each.url;
    engines.all_.push_back(std::make_unique<ServedEngine>(
        ServedEngine{each.name, redacted(shown), std::move(*client)}));
  }
  return engines;
}

ServedEngine* Engines::find(const std::string& name) const {
  for (const auto& engine : all_) {
    if (engine->name == name) return engine.get();
  }
  return nullptr;
}

std::string Engines::names() const {
  std::string names;
  for (const auto& engine : all_) names += (names.empty() ? "" : ", ") + engine->name;
  return names;
}

ServedEngine& Engines::of(const Request& request) const {
  const std::string* name = request.parameter("engine");
  if (!name && all_.size() == 1) return *all_[0];
  if (!name) {
    throw ProblemError(400, "invalid_argument", "say which engine: ?engine= one of " + names());
  }
  if (ServedEngine* found = find(*name)) return *found;
  throw ProblemError(
      404, "not_found",
      "no engine " + printable(*name, 100) + " is served here; there are " + names());
}

std::vector<ServedEngine*> Engines::asked(const Request& request) const {
  if (request.parameter("engine")) return {&of(request)};
  std::vector<ServedEngine*> every;
  for (const auto& engine : all_) every.push_back(engine.get());
  return every;
}

}  // namespace holdfast::cli::serve
