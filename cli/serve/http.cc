#include "serve/http.h"

#include <nlohmann/json.hpp>

namespace holdfast::cli::serve {
namespace {

bool parse_query(std::string_view text, Request& request) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decoded(pair.substr(0, equals));
    auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return false;
    // Which of two is meant, readers disagree about.
    if (!request.query.emplace(std::move(*name), std::move(*value)).second) return false;
  }
  return true;
}

}  // namespace

const std::string& Request::header(const std::string& lower_case_name) const {
  static const std::string& none = *new std::string;
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? none : found->second;
}

const std::string* Request::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? nullptr : &found->second;
}

bool parse_target(std::string_view target, Request& request) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t path = std::min(target.find_first_of("/?"), target.size());
    // Instead of the header, as RFC 9112 has it.
    request.headers.insert_or_assign("host", std::string(target.substr(0, path)));
    target.remove_prefix(path);
    if (target.empty()) target = "/";
    break;
  }
  if (!target.starts_with('/')) return false;
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string_view path = target.substr(1, mark - 1);
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    auto decoded = percent_decoded(segment);
    if (!decoded) return false;
    request.path.push_back(std::move(*decoded));
    path.remove_prefix(std::min(path.size(), segment.size() + 1));
  }
  return mark == target.size() || parse_query(target.substr(mark + 1), request);
}

std::string json_text(const Json& object) {
  return object.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string event_text(std::string_view event, const Json& data) {
  std::string text = "event: ";
  text += event;
  text += "\ndata: ";
  text += json_text(data);  // ASCII without line breaks
  text += "\n\n";
  return text;
}

Response json_response(const Json& object, int status) {
  return {.status = status, .body = json_text(object) + "\n"};
}

}  // namespace holdfast::cli::serve
