#include "base/url.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace holdfast::internal {

namespace {

// The only scheme whose path may hold anything: it is the name of a file.
constexpr std::string_view kFileScheme = "sqlite";

// The pieces of a URL as they stand in its text.
struct Pieces {
  std::string scheme;  // in lower case
  bool has_authority = false;
  std::optional<std::string_view> login;  // USER:PASSWORD, without the @
  std::string_view hosts;
  std::string_view path;
  std::optional<std::string_view> query;
  // Why the pieces may not be what they seem: such a URL is refused.
  const char* doubt = nullptr;
  // Nothing but `scheme` may be shown.
  bool unsure = false;
};

bool has_any(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

// Cuts `text` at the first `mark`; returns what came after it, or nothing if there is no mark.
std::optional<std::string_view> cut(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

// "host:port" without a host, or with something else than a number for the port: perhaps a user
// and a password, of a URL without an @. Engines refuse it, and show what stands before the colon.
bool has_odd_port(std::string_view hosts) {
  bool in_brackets = false;
  bool in_port = false;
  bool has_host = false;
  for (const char c : hosts) {
    if (in_port && c != ',' && !std::isdigit(static_cast<unsigned char>(c))) return true;
    if (c == '[') in_brackets = true;
    if (c == ']') in_brackets = false;
    if (c == ':' && !in_brackets) {
      if (!has_host) return true;
      in_port = true;
    } else if (c == ',') {
      in_port = has_host = false;
    } else {
      has_host = true;
    }
  }
  return false;
}

const char* doubt_about(const Pieces& pieces, std::string_view tail) {
  const bool names_file = pieces.scheme == kFileScheme && pieces.hosts.empty() && !pieces.login;
  if (names_file) return nullptr;
  if (has_any(tail, "@")) {
    return "a / or ? in its user or password must be written %2F or %3F, and an @ elsewhere %40";
  }
  if (has_any(pieces.hosts, "#") || has_any(tail, "#")) {
    return "it has a # outside its password, which must be written %23";
  }
  if (pieces.login && has_odd_port(pieces.hosts)) {
    return "the port is not a number, or an @ in its password is not written %40";
  }
  return nullptr;
}

// Decides where a URL's pieces are, for those who use it and for those who must not show it.
Pieces split(std::string_view text) {
  Pieces pieces;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    pieces.doubt = "it does not begin with an engine's scheme, such as sqlite:";
    return pieces;
  }
  for (const char c : text.substr(0, colon)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.') {
      pieces.doubt = "its scheme has a character that schemes do not have";
      pieces.scheme.clear();
      return pieces;
    }
    pieces.scheme += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  std::string_view tail = text.substr(colon + 1);
  if (tail.starts_with("//")) {
    pieces.has_authority = true;
    tail.remove_prefix(2);
    const std::size_t end = std::min(tail.find_first_of("/?"), tail.size());
    pieces.hosts = tail.substr(0, end);
    tail.remove_prefix(end);
    if (const std::size_t at = pieces.hosts.rfind('@'); at != std::string_view::npos) {
      pieces.login = pieces.hosts.substr(0, at);
      pieces.hosts.remove_prefix(at + 1);
    }
  }
  pieces.doubt = doubt_about(pieces, tail);
  pieces.unsure = pieces.doubt != nullptr || has_odd_port(pieces.hosts);
  pieces.query = cut(tail, '?');
  pieces.path = tail;
  return pieces;
}

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

bool parse_query(std::string_view text, std::map<std::string, std::string>& query) {
  while (!text.empty()) {
    std::string_view key = text;
    text = cut(key, '&').value_or("");
    const std::optional<std::string_view> value = cut(key, '=');
    if (!value) return false;
    const auto decoded_key = decoded(key);
    const auto decoded_value = decoded(*value);
    if (!decoded_key || !decoded_value || decoded_key->empty()) return false;
    query[*decoded_key] = *decoded_value;
  }
  return true;
}

// Options whose values may be shown: those of the engines (settings.cc), but for their passwords. Of
// any other it is not known whether it is a password; what is forgotten here is merely not shown.
bool may_be_shown(std::string_view option) {
  static constexpr std::array kHarmless{"acl",
                                        "application_name",
                                        "ca",
                                        "cert",
                                        "client_name",
                                        "collect",
                                        "command_timeout_ms",
                                        "connect_timeout_ms",
                                        "connections",
                                        "create_schema",
                                        "key",
                                        "node_timeout_ms",
                                        "prefix",
                                        "recipe",
                                        "schema",
                                        "sentinel_user",
                                        "socket",
                                        "sync",
                                        "tls",
                                        "tokens",
                                        "verify",
                                        "wait_replicas"};
  return std::ranges::find(kHarmless, option) != kHarmless.end();
}

constexpr std::string_view kHidden = "***";

std::string redacted_login(std::string_view login) {
  std::string_view user = login;
  const std::optional<std::string_view> password = cut(user, ':');
  // A user alone is often a password whose colon was forgotten.
  if (!password || (password->empty() && !user.empty())) return std::string(kHidden) + "@";
  return std::string(user) + ":" + std::string(kHidden) + "@";
}

std::string redacted_query(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::string_view option = text;
    text = cut(option, '&').value_or("");
    const std::optional<std::string_view> value = cut(option, '=');
    if (!out.empty()) out += '&';
    if (!value) {
      out += kHidden;
    } else {
      out.append(option).append("=").append(may_be_shown(option) ? *value : kHidden);
    }
  }
  return out;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const Pieces pieces = split(text);
  if (pieces.doubt != nullptr) return invalid(text, pieces.doubt);
  Url url;
  url.scheme = pieces.scheme;
  url.has_authority = pieces.has_authority;
  url.hosts = pieces.hosts;
  if (!parse_query(pieces.query.value_or(""), url.query)) {
    return invalid(text, "each of its options must be written KEY=VALUE, with % as %25");
  }
  std::string_view user = pieces.login.value_or("");
  const auto password = decoded(cut(user, ':').value_or(""));
  const auto decoded_user = decoded(user);
  if (!password || !decoded_user) return invalid(text, "its user has a malformed %-escape");
  url.user = *decoded_user;
  url.password = *password;
  const auto path = decoded(pieces.path);
  if (!path) return invalid(text, "its path has a malformed %-escape");
  url.path = *path;
  return url;
}

}  // namespace holdfast::internal

namespace holdfast {

std::string redacted(std::string_view url) {
  constexpr std::size_t kMaxLength = 300;
  using namespace internal;
  // A mere word, such as a scheme without its colon.
  if (!has_any(url, ":@")) return printable(url, kMaxLength);
  const Pieces pieces = split(url);
  if (pieces.scheme.empty()) return std::string(kHidden);
  std::string shown = pieces.scheme + (pieces.has_authority ? "://" : ":");
  const bool names_file = pieces.scheme == kFileScheme;
  if (pieces.unsure || (!pieces.has_authority && !names_file)) {
    return shown + std::string(kHidden);
  }
  if (pieces.login) shown += redacted_login(*pieces.login);
  shown.append(pieces.hosts).append(pieces.path);
  if (pieces.query) shown += "?" + redacted_query(*pieces.query);
  return printable(shown, kMaxLength);
}

}  // namespace holdfast
