#include "lock_variables.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "session.h"

namespace holdfast::cli {
namespace {

// HOLDFAST_NAME, HOLDFAST_TOKEN, either with _ and a number, and HOLDFAST_LOCKS.
bool tells_of_a_lock(std::string_view variable) {
  if (variable == "HOLDFAST_LOCKS") return true;
  for (const std::string_view stem : {"HOLDFAST_NAME", "HOLDFAST_TOKEN"}) {
    if (!variable.starts_with(stem)) continue;
    const std::string_view rest = variable.substr(stem.size());
    if (rest.empty()) return true;
    return rest.size() > 1 && rest.front() == '_' &&
           rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }
  return false;
}

std::string locks_as_json(const CommandLocks& locks, std::span<const std::uint64_t> tokens) {
  Json list = Json::array();
  for (std::size_t i = 0; i < locks.locks.size(); ++i) {
    Json lock;
    put_name(lock, locks.locks[i].name);
    lock["token"] = tokens[i];
    list.push_back(std::move(lock));
  }
  return list.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string held_with_ours(const CommandLocks& locks, std::span<const std::uint64_t> tokens) {
  std::string held = locks.held_above;
  for (std::size_t i = 0; i < locks.locks.size(); ++i) {
    if (locks.locks[i].nesting_key.empty()) continue;
    held +=
        (held.empty() ? "" : " ") + locks.locks[i].nesting_key + ":" + std::to_string(tokens[i]);
  }
  return held;
}

}  // namespace

std::vector<std::string> lock_variables(const CommandLocks& locks,
                                        std::span<const std::uint64_t> tokens) {
  std::vector<std::string> variables;
  const auto add = [&](const std::string& suffix, std::size_t i) {
    variables.push_back("HOLDFAST_NAME" + suffix + "=" + locks.locks[i].name.bytes());
    variables.push_back("HOLDFAST_TOKEN" + suffix + "=" + std::to_string(tokens[i]));
  };
  if (locks.locks.size() == 1) add("", 0);
  for (std::size_t i = 0; i < locks.locks.size(); ++i) add("_" + std::to_string(i + 1), i);
  variables.push_back("HOLDFAST_LOCKS=" + locks_as_json(locks, tokens));
  variables.push_back(std::string("HOLDFAST_MODE=") + mode_name(locks.mode));
  variables.push_back("HOLDFAST_OWNER=" + locks.owner);
  variables.push_back("HOLDFAST_HELD=" + held_with_ours(locks, tokens));
  return variables;
}

void forget_lock_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (tells_of_a_lock(name)) names.emplace_back(name);
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace holdfast::cli
