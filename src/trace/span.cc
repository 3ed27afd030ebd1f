#include "trace/span.h"

#include <algorithm>
#include <utility>

#include "base/ascii_json.h"
#include "holdfast/text.h"

namespace holdfast::internal {
namespace {

constexpr std::size_t kMaxText = 512;

void append_shown(std::string& out, std::string_view text) {
  append_json_string(out, printable(text, kMaxText), 2 * kMaxText);
}

}  // namespace

void Attributes::begin(std::string_view key) {
  if (!list_.empty()) list_ += ',';
  list_.append(R"({"key":")").append(key).append(R"(","value":{)");
}

Attributes& Attributes::add(std::string_view key, std::string_view text) {
  begin(key);
  list_ += R"("stringValue":)";
  append_shown(list_, text);
  list_ += "}}";
  return *this;
}

// 64 bits are a string in the JSON of Protocol Buffers; the type has a sign.
Attributes& Attributes::add(std::string_view key, std::uint64_t number) {
  if (number > INT64_MAX) return add(key, std::to_string(number));
  begin(key);
  list_ += R"("intValue":")" + std::to_string(number) + "\"}}";
  return *this;
}

Span::Span(std::string_view name, Kind kind, const TraceContext& context, std::string id,
           BootTime now, std::chrono::system_clock::time_point wall)
    : name_(name),
      kind_(kind),
      context_(context),
      id_(std::move(id)),
      began_(now),
      began_wall_(wall) {}

std::string Span::unix_ns(BootTime moment) const {
  const auto since = std::max(moment - began_, Duration::zero());
  const auto began = std::chrono::duration_cast<Duration>(began_wall_.time_since_epoch());
  return '"' + std::to_string((began + since).count()) + '"';
}

void Span::add_event(std::string_view name, const Attributes& attributes, BootTime now) {
  if (++event_count_ > kMaxEvents) return;
  if (!events_.empty()) events_ += ',';
  events_ += R"({"timeUnixNano":)" + unix_ns(now) + R"(,"name":")" + std::string(name) +
             R"(","attributes":)" + attributes.json() + '}';
}

void Span::fail(std::string_view message) {
  failed_ = true;
  message_ = message;
}

std::string Span::ended(BootTime now) const {
  std::string json = R"({"traceId":")" + context_.trace_id + R"(","spanId":")" + id_ + '"';
  if (!context_.span_id.empty()) json += R"(,"parentSpanId":")" + context_.span_id + '"';
  json += R"(,"name":)";
  append_shown(json, name_);
  json += R"(,"kind":)" + std::to_string(static_cast<int>(kind_)) + R"(,"startTimeUnixNano":)" +
          unix_ns(began_) + R"(,"endTimeUnixNano":)" + unix_ns(now) + R"(,"attributes":)" +
          attributes_.json();
  if (!events_.empty()) json += R"(,"events":[)" + events_ + ']';
  if (event_count_ > kMaxEvents)
    json += R"(,"droppedEventsCount":)" + std::to_string(event_count_ - kMaxEvents);
  json += R"(,"status":{)";
  if (failed_) {
    json += R"("code":2,"message":)";
    append_shown(json, message_);
  }
  return json + "}}";
}

}  // namespace holdfast::internal
