// The W3C header traceparent: "00-TRACE-SPAN-FLAGS". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/span.h"

namespace holdfast::internal {

struct Traceparent {
  TraceContext context;
  bool sampled = false;

  // Nothing if it is malformed. Of a version that is not known yet, what all versions have.
  static std::optional<Traceparent> parse(std::string_view text);
};

// Of a span that is recorded.
std::string to_traceparent(const TraceContext& context);

}  // namespace holdfast::internal
