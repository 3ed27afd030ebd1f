#include "trace/traceparent.h"

namespace holdfast::internal {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool is_hex(std::string_view text) {
  return text.find_first_not_of(kDigits) == std::string_view::npos;
}

bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<Traceparent> Traceparent::parse(std::string_view text) {
  constexpr std::size_t kLength = 55;
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-')
    return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace = text.substr(3, 32);
  const std::string_view span = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (!is_hex(version) || version == "ff" || !is_id(trace) || !is_id(span) || !is_hex(flags))
    return std::nullopt;
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;
  const bool sampled = (kDigits.find(flags[1]) & 1U) != 0;
  return Traceparent{{std::string(trace), std::string(span)}, sampled};
}

std::string to_traceparent(const TraceContext& context) {
  return "00-" + context.trace_id + '-' + context.span_id + "-01";
}

}  // namespace holdfast::internal
