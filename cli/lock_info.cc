#include "lock_info.h"

#include <nlohmann/json.hpp>

#include "duration.h"
#include "holdfast/text.h"

namespace holdfast::cli {
namespace {

// A claim's id is its owner's key (see Handle), so it is never shown.
Json to_json(const HolderInfo& holder) {
  Json object = {{"mode", mode_name(holder.mode)},
                 {"token", holder.token.value()},
                 {"label", shown_label(holder.label)}};
  if (!holder.owner.empty()) object["owner"] = holder.owner;
  if (holder.held_for) object["held_for_ms"] = to_ms(*holder.held_for);
  if (holder.expires_in) object["expires_in_ms"] = to_ms(*holder.expires_in);
  for (const HolderInfo::Detail& detail : holder.details) {
    object["details"][detail.name] = shown_label(detail.value);
  }
  return object;
}

Json to_json(const WaiterInfo& waiter) {
  Json object = {{"mode", mode_name(waiter.mode)}, {"label", shown_label(waiter.label)}};
  if (!waiter.owner.empty()) object["owner"] = waiter.owner;
  if (waiter.waited_for) object["waited_for_ms"] = to_ms(*waiter.waited_for);
  return object;
}

}  // namespace

Json to_json(const LockInfo& info) {
  Json object;
  put_name(object, info.name);
  // Engines that take tokens from the server's own numbers need not remember a lock's last.
  if (info.last_token != Token()) object["last_token"] = info.last_token.value();
  if (info.permits > 0) object["permits"] = info.permits;
  object["holders"] = Json::array();
  for (const HolderInfo& holder : info.holders) object["holders"].push_back(to_json(holder));
  object["waiters"] = Json::array();
  for (const WaiterInfo& waiter : info.waiters) object["waiters"].push_back(to_json(waiter));
  return object;
}

std::string shown_label(const std::string& text) {
  constexpr std::size_t kMaxLength = 120;
  return printable(text, kMaxLength);
}

std::string shown_owner(const std::string& owner) { return owner.empty() ? "-" : owner; }

std::string shown(const std::optional<Duration>& span) {
  return span ? format_duration(*span) : "-";
}

}  // namespace holdfast::cli
