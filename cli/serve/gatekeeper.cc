#include "serve/gatekeeper.h"

#include <strings.h>

#include <algorithm>
#include <string>

#include "holdfast/text.h"

namespace holdfast::cli::serve {
namespace {

// "localhost:7272" -> "localhost", "[::1]:7272" -> "::1"; whatever else is behind the name, belongs to it.
std::string_view name_of(std::string_view host) {
  std::string_view name = host;
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos &&
      host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos) {
    name = host.substr(0, colon);
  }
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return name;
}

bool same_name(std::string_view one, std::string_view other) {
  return one.size() == other.size() && strncasecmp(one.data(), other.data(), one.size()) == 0;
}

// Takes as long whatever differs.
bool same_secret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const char each = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(each) ^ static_cast<unsigned char>(secret[i]);
  }
  return difference == 0;
}

}  // namespace

bool Gatekeeper::known_host(std::string_view host) const {
  const std::string_view name = name_of(host);
  const auto is = [&](std::string_view other) { return same_name(name, other); };
  if (std::ranges::any_of(settings_.hosts, is)) return true;
  if (settings_.listen.is_unix()) return true;  // no browser reaches it
  if (settings_.listen.loopback && (is("localhost") || is("127.0.0.1") || is("::1"))) return true;
  // With a token a stranger's name does not help: his page does not have it. Names need not be listed, then.
  if (!settings_.token.empty() && settings_.hosts.empty() && !settings_.listen.loopback)
    return true;
  return is(settings_.listen.host);
}

std::optional<Problem> Gatekeeper::refuses_origin(const Request& request) const {
  const std::string& origin = request.header("origin");
  if (!origin.empty()) {
    const std::string& host = request.header("host");
    if (same_name(origin, (settings_.tls() ? "https://" : "http://") + host)) return std::nullopt;
    // Named by --host, it may be behind a proxy that speaks TLS.
    const bool named = std::ranges::any_of(
        settings_.hosts, [&](std::string_view each) { return same_name(name_of(host), each); });
    if (named && same_name(origin, "https://" + host)) return std::nullopt;
    return Problem{403, "forbidden",
                   "requests from pages of another origin (" + printable(origin, 200) +
                       ") are refused; programs send no Origin header"};
  }
  const std::string& site = request.header("sec-fetch-site");
  const bool link = request.method == "GET" && request.header("sec-fetch-mode") == "navigate" &&
                    (request.path.empty() || request.path[0] == "page");
  if ((site == "cross-site" || site == "same-site") && !link) {
    return Problem{403, "forbidden", "requests from pages of another site are refused"};
  }
  return std::nullopt;
}

bool Gatekeeper::has_token(const Request& request) const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view given = request.header("authorization");
  return given.size() > kScheme.size() && same_name(given.substr(0, kScheme.size()), kScheme) &&
         same_secret(given.substr(kScheme.size()), settings_.token);
}

std::optional<Problem> Gatekeeper::refuses(const Request& request, bool open) const {
  const std::string& host = request.header("host");
  if (host.empty() || host.find(',') != std::string::npos)
    return Problem{400, "invalid_argument", "the header Host is missing, or comes twice"};
  if (!known_host(host)) {
    return Problem{421, "misdirected",
                   "this daemon is not called " + printable(host, 200) +
                       "; if it is, start it with --host " + printable(name_of(host), 200)};
  }
  if (auto problem = refuses_origin(request)) return problem;
  if (settings_.token.empty() || open || has_token(request)) return std::nullopt;
  return Problem{401, "unauthorized",
                 request.header("authorization").empty()
                     ? "this daemon wants a token: Authorization: Bearer TOKEN (see --token-file)"
                     : "the token is wrong"};
}

}  // namespace holdfast::cli::serve
