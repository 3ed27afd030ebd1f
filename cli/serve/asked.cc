#include "serve/asked.h"

#include "holdfast/text.h"
#include "serve/chance.h"
#include "serve/fields.h"

namespace holdfast::cli::serve {
namespace {

constexpr std::size_t kMaxLabelBytes = 256;
constexpr std::uint64_t kMaxTtlMs = 30ULL * 24 * 3600 * 1000;

std::optional<Mode> parse_mode(const std::string& text) {
  for (const Mode mode : {Mode::exclusive, Mode::shared, Mode::permit}) {
    if (text == mode_name(mode)) return mode;
  }
  return std::nullopt;
}

Mode mode_in(Fields& fields) {
  const auto text = fields.text("mode");
  if (!text) return Mode::exclusive;
  if (const auto mode = parse_mode(*text)) return *mode;
  throw ProblemError(400, "invalid_argument",
                     "the field mode is exclusive, shared or permit, not " + printable(*text, 100));
}

Duration ms_in(Fields& fields, const char* name, std::uint64_t least, std::uint64_t most,
               Duration otherwise) {
  const auto given = fields.number(name, least, most);
  return given ? Duration(std::chrono::milliseconds(*given)) : otherwise;
}

}  // namespace

Name name_of(const Request& request) {
  const std::string& bytes = request.path.at(2);
  if (auto problem = Name::problem_with(bytes))
    throw ProblemError(400, "invalid_argument", *problem);
  return bytes;
}

Asked Asked::from(const Request& request) {
  Fields fields(request);
  Asked asked{.name = name_of(request), .received = request.received};
  asked.mode = mode_in(fields);
  asked.ttl = ms_in(fields, "ttl_ms", 1, kMaxTtlMs, asked.ttl);
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(kLongestWait).count();
  asked.patience = ms_in(fields, "wait_ms", 0, static_cast<std::uint64_t>(longest), asked.patience);
  asked.label = fields.text("label").value_or("");
  asked.owner = fields.text("owner").value_or("");
  const auto permits = fields.number("permits", 1, UINT32_MAX);
  fields.end();
  if (asked.label.size() > kMaxLabelBytes) {
    throw ProblemError(400, "invalid_argument",
                       "a label has at most " + std::to_string(kMaxLabelBytes) + " bytes");
  }
  if (permits.has_value() != (asked.mode == Mode::permit)) {
    throw ProblemError(
        400, "invalid_argument",
        "the field permits, how many may hold at once, goes with mode permit, and that with it");
  }
  asked.permits = static_cast<std::uint32_t>(permits.value_or(1));
  return asked;
}

LockRequest Asked::request_on(Client& client, LockOptions options) const {
  options.ttl = ttl;
  const std::string shown = label.empty() ? "over HTTP, " + default_label() : label;
  options.label = shown.substr(0, kMaxLabelBytes);
  // Claims of one owner end together. Those that say nothing about it are strangers to each other.
  options.owner = owner.empty() ? "http-" + random_hex(6) : owner;
  switch (mode) {
    case Mode::exclusive: return client.mutex(name, options);
    case Mode::shared: return client.shared_mutex(name, options).shared();
    case Mode::permit: return client.semaphore(name, permits, options);
  }
  return client.mutex(name, options);
}

std::string Asked::fingerprint(const std::string& engine) const {
  std::string text;
  for (const std::string& part :
       {engine, name.bytes(), std::string(mode_name(mode)), std::to_string(permits),
        std::to_string(ttl.count()), label, owner}) {
    text += std::to_string(part.size()) + ':' + part;
  }
  return text;
}

}  // namespace holdfast::cli::serve
