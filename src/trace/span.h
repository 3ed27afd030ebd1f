// Span: one span while it lasts, and how it is written in OTLP/JSON. A value; bounded, whatever happens in it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/time.h"

namespace holdfast::internal {

// The W3C trace context: which trace, and the span above. Hexadecimal.
struct TraceContext {
  std::string trace_id;
  std::string span_id;  // empty: nothing is above
};

// A list of attributes: "[…]". Texts are made printable and cut.
class Attributes {
 public:
  Attributes& add(std::string_view key, std::string_view text);
  Attributes& add(std::string_view key, std::uint64_t number);
  std::string json() const { return '[' + list_ + ']'; }

 private:
  void begin(std::string_view key);
  std::string list_;
};

class Span {
 public:
  enum class Kind { internal = 1, client = 3 };

  // `context`: the trace, and the span that this one is below. `id`: 16 hexadecimal digits.
  Span(std::string_view name, Kind kind, const TraceContext& context, std::string id, BootTime now,
       std::chrono::system_clock::time_point wall);

  TraceContext below() const { return {context_.trace_id, id_}; }
  Attributes& attributes() { return attributes_; }
  void add_event(std::string_view name, const Attributes& attributes, BootTime now);
  void fail(std::string_view message);

  // A member of "spans".
  std::string ended(BootTime now) const;

 private:
  // A call may be repeated for days.
  static constexpr std::size_t kMaxEvents = 32;

  // The wall clock may be set meanwhile; the boot clock goes on.
  std::string unix_ns(BootTime moment) const;

  std::string name_;
  Kind kind_;
  TraceContext context_;
  std::string id_;
  BootTime began_;
  std::chrono::system_clock::time_point began_wall_;
  Attributes attributes_;
  std::string events_;
  std::size_t event_count_ = 0;
  bool failed_ = false;
  std::string message_;
};

}  // namespace holdfast::internal
