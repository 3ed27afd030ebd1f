// UrlReader: reads an engine's URL into its settings. Each option is described where it is read: its name, its type
// (by where it goes), its bounds, and its default (the value that is there before). The first thing that is wrong is
// kept, and finish() reports it together with the form of such a URL.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/url.h"
#include "holdfast/options.h"
#include "wire/endpoint.h"
#include "wire/tls.h"

namespace holdfast::internal {

class UrlReader {
 public:
  // `form`: how such a URL is written ("write redis://HOST…"). Both must outlive the reader.
  UrlReader(const Url& url, const char* form) : url_(url), form_(form) {}

  // Keeps `why` as what is wrong, unless something else was wrong before.
  void refuse(const std::string& why);
  void require(bool good, const std::string& why) {
    if (!good) refuse(why);
  }

  // The servers of scheme://HOST,HOST; never empty.
  std::vector<Endpoint> servers(std::uint16_t default_port);

  // Options after the question mark. Each takes its value if it is given.
  void text(const char* name, std::string& value, std::size_t max_bytes = SIZE_MAX);
  void flag(const char* name, bool& value);
  void time_ms(const char* name, Duration& value, int max_ms = 600'000);
  // connect_timeout_ms and command_timeout_ms.
  void timeouts(Duration& connect, Duration& request);
  template <class Integer>
  void number(const char* name, Integer& value, int min, int max) {
    if (const auto given = number_from(name, min, max)) value = static_cast<Integer>(*given);
  }
  // An option that is read in a way of its own; null if it is not given.
  const std::string* option(const char* name);

  // ca, cert, key and verify. True if one of them is given.
  bool tls_options(TlsSettings& tls);
  // The same for engines whose scheme says whether TLS is used: null if it does not, and then these options are
  // refused. `scheme`: what to write instead. Last of the options: a file is read only if all else is right.
  std::shared_ptr<const TlsContext> tls(bool encrypted, const char* scheme,
                                        const char* protocol = "");

  // The same URL with only these of its options, which another reader takes.
  Url with_only(std::initializer_list<const char*> names);

  // The first problem, if any; an option that nobody has read is one.
  Result<void> finish();

 private:
  std::optional<int> number_from(const char* name, int min, int max);

  const Url& url_;
  const char* form_;
  std::vector<std::string> known_;  // options that were read
  std::optional<Failure> wrong_;
};

// Nothing if the text is not a number, or one out of range.
std::optional<int> number_in(std::string_view text, int min, int max);

}  // namespace holdfast::internal
