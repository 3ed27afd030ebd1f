// Fields: the members of a request's JSON object, each checked; unknown ones are refused by name, so that a typing error
// does not take a lock with a default. Throws ProblemError.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "serve/problem.h"

namespace holdfast::cli::serve {

class Fields {
 public:
  // An empty body is an empty object.
  explicit Fields(const Request& request);

  std::optional<std::string> text(const char* name);
  std::optional<std::uint64_t> number(const char* name, std::uint64_t least, std::uint64_t most);
  std::string required_text(const char* name);
  // Refuses what nobody asked for.
  void end() const;

 private:
  const nlohmann::json* find(const char* name);

  nlohmann::json object_;
  std::set<std::string> known_;
};

}  // namespace holdfast::cli::serve
