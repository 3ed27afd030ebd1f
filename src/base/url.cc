#include "base/url.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace holdfast::internal {

namespace {

Failure invalid(std::string_view text, const std::string& why) {
  return Failure(Code::invalid_argument, "'" + redacted(text) + "' is not a usable URL: " + why);
}

// Nothing if an escape is malformed.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const std::optional<std::string> byte = bytes_from_hex(text.substr(i + 1, 2));
    if (!byte) return std::nullopt;
    out += *byte;
    i += 2;
  }
  return out;
}

// Cuts `text` at the first `mark`; returns what came after it.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t place = text.find(mark);
  if (place == std::string_view::npos) return {};
  const std::string_view rest = text.substr(place + 1);
  text = text.substr(0, place);
  return rest;
}

bool parse_query(std::string_view text, std::map<std::string, std::string>& query) {
  while (!text.empty()) {
    std::string_view pair = text;
    text = cut(pair, '&');
    const std::string_view value = cut(pair, '=');
    const auto decoded_key = decoded(pair);
    const auto decoded_value = decoded(value);
    if (!decoded_key || !decoded_value || decoded_key->empty()) return false;
    query[*decoded_key] = *decoded_value;
  }
  return true;
}

// "host:port" with something else than a number for the port.
bool has_odd_port(std::string_view hosts) {
  bool in_brackets = false;
  bool in_port = false;
  for (const char c : hosts) {
    if (c == '[') in_brackets = true;
    if (c == ']') in_brackets = false;
    if (in_port && c != ',' && !std::isdigit(static_cast<unsigned char>(c))) return true;
    if (c == ':' && !in_brackets) in_port = true;
    if (c == ',') in_port = false;
  }
  return false;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return invalid(text, "it does not begin with an engine's scheme, such as sqlite:");
  }
  Url url;
  for (const char c : text.substr(0, colon)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.') {
      return invalid(text, "its scheme has a character that schemes do not have");
    }
    url.scheme += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  std::string_view rest = text.substr(colon + 1);
  if (!parse_query(cut(rest, '?'), url.query)) return invalid(text, "its query does not parse");

  std::string_view path = rest;
  if (rest.starts_with("//")) {
    url.has_authority = true;
    rest.remove_prefix(2);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view authority = rest.substr(0, slash);
    path = rest.substr(slash);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
      std::string_view user = authority.substr(0, at);
      authority.remove_prefix(at + 1);
      const auto password = decoded(cut(user, ':'));
      const auto decoded_user = decoded(user);
      if (!password || !decoded_user) return invalid(text, "its user has a malformed %-escape");
      url.user = *decoded_user;
      url.password = *password;
    } else if (text.find('@') != std::string_view::npos && has_odd_port(authority)) {
      // What looks like a host is the first part of a password: it must not be shown as a host.
      return invalid(text, "a / or ? in its user or password must be written %2F or %3F");
    }
    url.hosts = authority;
  }
  const auto decoded_path = decoded(path);
  if (!decoded_path) return invalid(text, "its path has a malformed %-escape");
  url.path = *decoded_path;
  return url;
}

std::string redacted(std::string_view url) {
  std::string out(url);
  // Whatever stands between a colon and the last @ could be a password, also where the text is no
  // URL, or the password has characters that it should not have.
  std::size_t at = out.rfind('@', out.find('?'));
  if (at == std::string::npos) at = out.rfind('@');
  if (at != std::string::npos) {
    const std::size_t authority = out.find("://");
    const std::size_t start = authority != std::string::npos && authority < at ? authority + 3 : 0;
    const std::size_t colon = out.find(':', start);
    if (colon < at) out.replace(colon + 1, at - colon - 1, "***");
  }
  std::string lower = out;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view key : {"password=", "pass=", "secret=", "token=", "auth="}) {
    for (std::size_t place = lower.find(key); place != std::string::npos;
         place = lower.find(key, place + 1)) {
      const std::size_t from = place + key.size();
      const std::size_t length = std::min(out.find('&', from), out.size()) - from;
      out.replace(from, length, "***");
      lower.replace(from, length, "***");
    }
  }
  return escaped(out, 300);
}

}  // namespace holdfast::internal
