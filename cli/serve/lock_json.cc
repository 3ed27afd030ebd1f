#include "serve/lock_json.h"

#include <nlohmann/json.hpp>

#include "lock_info.h"

namespace holdfast::cli::serve {

Json lock_json(const std::string& engine, const LockInfo& info) {
  Json object = {{"engine", engine}};
  object.update(cli::to_json(info));
  object["path"] = percent_encoded(info.name.bytes());
  return object;
}

Json to_json(const std::string& engine, const SeenLock& lock) {
  Json object = {{"engine", engine}};
  put_name(object, lock.name);
  object["path"] = percent_encoded(lock.name.bytes());
  if (lock.last_token != Token()) object["last_token"] = lock.last_token.value();
  if (lock.permits > 0) object["permits"] = lock.permits;
  object["holders"] = Json::array();
  for (const SeenHolder& each : lock.holders) {
    Json& holder = object["holders"].emplace_back(Json{{"mode", mode_name(each.mode)},
                                                       {"token", each.token.value()},
                                                       {"label", shown_label(each.label)}});
    if (!each.owner.empty()) holder["owner"] = each.owner;
    if (each.since_ms) holder["held_since_ms"] = *each.since_ms;
    if (each.expires_ms) holder["expires_at_ms"] = *each.expires_ms;
    for (const auto& [name, value] : each.details) holder["details"][name] = shown_label(value);
  }
  object["waiters"] = Json::array();
  for (const SeenWaiter& each : lock.waiters) {
    Json& waiter = object["waiters"].emplace_back(
        Json{{"mode", mode_name(each.mode)}, {"label", shown_label(each.label)}});
    if (!each.owner.empty()) waiter["owner"] = each.owner;
    if (each.since_ms) waiter["waiting_since_ms"] = *each.since_ms;
  }
  return object;
}

}  // namespace holdfast::cli::serve
