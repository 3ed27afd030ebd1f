// URLs: parsed, shown to people, and read as a Redis engine's. An input is three lines: USER, the
// REST of a password, and what comes AFTER the @; each can have any bytes but a newline. It is also
// tried as a URL just as it is.
#include "base/url.h"
#include "engines/redis/settings.h"
#include "fuzz.h"

namespace {

using namespace holdfast;            // NOLINT(google-build-using-namespace): a small program
using namespace holdfast::internal;  // NOLINT(google-build-using-namespace)
using fuzz::must;

constexpr std::string_view kSecret = "S3cr3tS3cr3t";

// All that a user may come to see of a URL.
std::string shown_of(std::string_view text) {
  std::string shown = redacted(text);
  const Result<Url> url = Url::parse(text);
  if (!url) return shown + "\n" + url.message();
  const Result<redis::Settings> settings = redis::settings_from(*url, ClientOptions{});
  if (!settings) return shown + "\n" + settings.message();
  must(!settings->endpoints.empty(), "a Redis engine has a server");
  must(settings->layout != redis::Layout::single || settings->endpoints.size() == 1,
       "and one only");
  for (const Endpoint& endpoint : settings->endpoints) {
    must(!endpoint.unix_path.empty() || !endpoint.host.empty(), "a server is somewhere");
    shown += "\n" + endpoint.display();
  }
  return shown;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  static_cast<void>(shown_of(input));
  if (input.find(kSecret) != std::string_view::npos) return 0;

  const std::string_view user = fuzz::take_until(input, '\n');
  const std::string_view rest = fuzz::take_until(input, '\n');
  // Also where user and password have characters that they should not have: / ? @ and so on.
  std::string text = "redis://" + std::string(user) + ":" + std::string(kSecret);
  text.append(rest).append("@").append(input);
  const std::string shown = shown_of(text);
  must(shown.find(kSecret) == std::string::npos, "a password is shown to nobody", shown);
  must(printable(redacted(text)) == redacted(text), "a URL is shown in printable characters");
  return 0;
}
