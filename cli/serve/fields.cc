#include "serve/fields.h"

#include <strings.h>

#include <string_view>

#include "holdfast/text.h"

namespace holdfast::cli::serve {
namespace {

[[noreturn]] void refuse_body(const std::string& detail) {
  throw ProblemError(400, "invalid_argument", detail);
}

// A body nested a million deep would end in a stack overflow; ours are flat.
bool shallow(const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\') ++i;
      if (i < text.size() && text[i] == '"') quoted = false;
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == '{' || text[i] == '[') {
      if (++depth > 8) return false;
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return true;
}

// "application/json", perhaps with parameters.
bool is_json(std::string_view type) {
  type = type.substr(0, type.find_first_of("; \t"));
  constexpr std::string_view kJson = "application/json";
  return type.size() == kJson.size() && strncasecmp(type.data(), kJson.data(), kJson.size()) == 0;
}

}  // namespace

Fields::Fields(const Request& request) : object_(nlohmann::json::object()) {
  if (request.body.empty()) return;
  if (!is_json(request.header("content-type"))) {
    throw ProblemError(415, "unsupported_media_type",
                       "send the body with Content-Type: application/json");
  }
  if (!shallow(request.body)) refuse_body("the body is nested too deep");
  // Which of two members of one name is meant, readers disagree about.
  bool twice = false;
  std::set<std::string> names;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1) {
      twice = !names.insert(parsed.get<std::string>()).second || twice;
    }
    return true;
  };
  try {
    object_ = nlohmann::json::parse(request.body, watch);
  } catch (const nlohmann::json::exception& error) {
    refuse_body(std::string("the body is no JSON: ") + error.what());
  }
  if (!object_.is_object()) refuse_body("the body must be a JSON object");
  if (twice) refuse_body("a field of the body comes twice");
}

const nlohmann::json* Fields::find(const char* name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> Fields::text(const char* name) {
  const nlohmann::json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse_body(std::string("the field ") + name + " must be a string");
  return value->get<std::string>();
}

std::string Fields::required_text(const char* name) {
  auto value = text(name);
  if (!value || value->empty()) refuse_body(std::string("the field ") + name + " is missing");
  return *value;
}

std::optional<std::uint64_t> Fields::number(const char* name, std::uint64_t least,
                                            std::uint64_t most) {
  const nlohmann::json* value = find(name);
  if (!value) return std::nullopt;
  const bool fits = value->is_number_unsigned() && value->get<std::uint64_t>() >= least &&
                    value->get<std::uint64_t>() <= most;
  if (!fits) {
    refuse_body(std::string("the field ") + name + " must be a whole number from " +
                std::to_string(least) + " to " + std::to_string(most));
  }
  return value->get<std::uint64_t>();
}

void Fields::end() const {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    std::string known;
    for (const std::string& each : known_) known += (known.empty() ? "" : ", ") + each;
    refuse_body("there is no field " + printable(name, 100) + "; there are " + known);
  }
}

}  // namespace holdfast::cli::serve
