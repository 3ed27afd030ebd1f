#include "engines/kit/url_reader.h"

#include <algorithm>
#include <charconv>

namespace holdfast::internal {

std::optional<int> number_in(std::string_view text, int min, int max) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if (number < min || number > max) return std::nullopt;
  return number;
}

void UrlReader::refuse(const std::string& why) {
  if (!wrong_) wrong_ = Failure(Code::invalid_argument, why + "; " + form_);
}

std::vector<Endpoint> UrlReader::servers(std::uint16_t default_port) {
  require(url_.has_authority, "'" + url_.scheme + ":' must be followed by //");
  Result<std::vector<Endpoint>> endpoints = parse_endpoints(url_.hosts, default_port);
  if (endpoints) return std::move(endpoints).value();
  refuse(endpoints.message());
  return {Endpoint()};
}

// ---- Options -----------------------------------------------------------------------------------

const std::string* UrlReader::option(const char* name) {
  known_.emplace_back(name);
  const auto given = url_.query.find(name);
  if (given == url_.query.end()) return nullptr;
  require(!given->second.empty(), "the option '" + given->first + "' is empty");
  return given->second.empty() ? nullptr : &given->second;
}

void UrlReader::text(const char* name, std::string& value, std::size_t max_bytes) {
  const std::string* const given = option(name);
  if (!given) return;
  require(given->size() <= max_bytes,
          std::string(name) + " is at most " + std::to_string(max_bytes) + " bytes");
  value = *given;
}

void UrlReader::flag(const char* name, bool& value) {
  const std::string* const given = option(name);
  if (!given) return;
  require(*given == "yes" || *given == "no",
          std::string(name) + " is yes or no, not '" + *given + "'");
  value = *given == "yes";
}

void UrlReader::time_ms(const char* name, Duration& value, int max_ms) {
  const std::string* const given = option(name);
  if (!given) return;
  const std::optional<int> time = number_in(*given, 1, max_ms);
  require(time.has_value(), std::string(name) + " is a number of milliseconds up to " +
                                std::to_string(max_ms) + ", not '" + *given + "'");
  if (time) value = std::chrono::milliseconds(*time);
}

void UrlReader::timeouts(Duration& connect, Duration& request) {
  time_ms("connect_timeout_ms", connect);
  time_ms("command_timeout_ms", request);
}

std::optional<int> UrlReader::number_from(const char* name, int min, int max) {
  const std::string* const given = option(name);
  if (!given) return std::nullopt;
  const std::optional<int> number = number_in(*given, min, max);
  require(number.has_value(), std::string(name) + " is a number from " + std::to_string(min) +
                                  " to " + std::to_string(max) + ", not '" + *given + "'");
  return number;
}

// ---- TLS ---------------------------------------------------------------------------------------

bool UrlReader::tls_options(TlsSettings& tls) {
  const auto first = static_cast<std::ptrdiff_t>(known_.size());
  text("ca", tls.ca_file);
  text("cert", tls.certificate_file);
  text("key", tls.key_file);
  flag("verify", tls.verify);
  return std::any_of(known_.begin() + first, known_.end(),
                     [&](const std::string& name) { return url_.query.contains(name); });
}

std::shared_ptr<const TlsContext> UrlReader::tls(bool encrypted, const char* scheme,
                                                 const char* protocol) {
  TlsSettings settings;
  settings.protocol = protocol;
  const bool used = tls_options(settings);
  require(encrypted || !used, std::string("ca, cert, key and verify are for TLS: write ") + scheme);
  if (!encrypted || wrong_) return nullptr;
  Result<std::shared_ptr<const TlsContext>> context = TlsContext::make(settings);
  if (context) return std::move(context).value();
  wrong_ = context.failure();
  return nullptr;
}

// ---- The whole ---------------------------------------------------------------------------------

Url UrlReader::with_only(std::initializer_list<const char*> names) {
  Url rest = url_;
  rest.query.clear();
  for (const char* name : names) {
    known_.emplace_back(name);
    if (const auto given = url_.query.find(name); given != url_.query.end()) {
      rest.query.insert(*given);
    }
  }
  return rest;
}

Result<void> UrlReader::finish() {
  std::string all;
  for (const std::string& name : known_) all += (all.empty() ? "" : ", ") + name;
  for (const auto& [name, value] : url_.query) {
    const bool known = std::find(known_.begin(), known_.end(), name) != known_.end();
    require(known, "unknown option '" + name + "' (there is " + all + ")");
  }
  if (wrong_) return *wrong_;
  return {};
}

}  // namespace holdfast::internal
