#include "history_event.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "lock_info.h"

namespace holdfast::cli {

Json event_json(const HistoryEvent& event) {
  Json object = {{"at_ms", event.at_ms}, {"engine", event.engine}};
  put_name(object, event.name);
  object["kind"] = event.kind;
  if (event.token != Token()) object["token"] = event.token.value();
  if (event.mode) object["mode"] = mode_name(*event.mode);
  if (!event.label.empty()) object["label"] = shown_label(event.label);
  if (!event.owner.empty()) object["owner"] = event.owner;
  if (event.held_for_ms) object["held_for_ms"] = *event.held_for_ms;
  if (event.waited_for_ms) object["waited_for_ms"] = *event.waited_for_ms;
  if (!event.reason.empty()) object["reason"] = event.reason;
  return object;
}

long long wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace holdfast::cli
