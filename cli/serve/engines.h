// The engines that this daemon serves, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/client.h"
#include "serve/problem.h"
#include "serve/settings.h"

namespace holdfast::cli::serve {

struct ServedEngine {
  std::string name;
  std::string shown_url;  // without secrets
  Client client;
};

class Engines {
 public:
  using ObserverOf = std::function<std::shared_ptr<Observer>(const std::string& name)>;
  // The failure names the engine that could not be opened.
  static Result<Engines> open(const Settings& settings, const ObserverOf& observer_of);

  const std::vector<std::unique_ptr<ServedEngine>>& all() const { return all_; }
  // Null if there is none.
  ServedEngine* find(const std::string& name) const;
  // The one that the request names; the only one, if it names none. Throws ProblemError.
  ServedEngine& of(const Request& request) const;
  // Those that the request names: one, or without a name all.
  std::vector<ServedEngine*> asked(const Request& request) const;

 private:
  std::string names() const;

  std::vector<std::unique_ptr<ServedEngine>> all_;
};

}  // namespace holdfast::cli::serve
