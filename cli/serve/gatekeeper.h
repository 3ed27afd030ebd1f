// Gatekeeper: who may ask at all. A daemon on loopback is within reach of every page that a browser on this machine
// shows, so names and origins are checked before anything else:
//
//   Host             a page of evil.example whose name was made to point at 127.0.0.1 (DNS rebinding) sends that name
//   Origin           a page of another origin that posts here (cross-site request forgery) says from where
//   Sec-Fetch-Site   the same for requests that have no Origin; following a link to the page is allowed
//   Authorization    the bearer token, where there is one; compared in constant time
//
// Pure.
#pragma once

#include <optional>

#include "serve/problem.h"
#include "serve/settings.h"

namespace holdfast::cli::serve {

class Gatekeeper {
 public:
  explicit Gatekeeper(const Settings& settings) : settings_(settings) {}

  // Why the request is refused. `open`: needs no token (the page's own files hold nothing secret).
  std::optional<Problem> refuses(const Request& request, bool open) const;

 private:
  bool known_host(std::string_view host) const;
  std::optional<Problem> refuses_origin(const Request& request) const;
  bool has_token(const Request& request) const;

  const Settings& settings_;
};

}  // namespace holdfast::cli::serve
