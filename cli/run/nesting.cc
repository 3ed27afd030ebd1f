#include "nesting.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace holdfast::cli {
namespace {

constexpr const char* kVariable = "HOLDFAST_HELD";

// FNV-1a: a mistake costs one question more, since the token is compared as well.
std::string key_of(const std::string& url, const Name& name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::string* text : {&url, &name.bytes()}) {
    for (const unsigned char byte : *text) hash = (hash ^ byte) * 0x100000001b3U;
    hash = (hash ^ 0x100U) * 0x100000001b3U;
  }
  std::array<char, 17> digits;
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

std::string inherited() {
  const char* value = std::getenv(kVariable);
  return value == nullptr ? "" : value;
}

// The token of the last entry for this lock; empty if there is none.
std::string token_above(const std::string& key) {
  std::istringstream entries(inherited());
  std::string token;
  for (std::string entry; entries >> entry;) {
    if (entry.starts_with(key + ":")) token = entry.substr(key.size() + 1);
  }
  return token;
}

bool has_holder(const Session& session, const Name& name, const std::string& token) {
  Result<Client> client = session.open({.observer = std::make_shared<Observer>()});
  if (!client) return false;
  const Result<LockInfo> lock = client->inspect(name);
  return lock && std::ranges::any_of(lock->holders, [&](const HolderInfo& holder) {
           return holder.token.str() == token;
         });
}

}  // namespace

std::string held_above(const std::string& url, const Name& name) {
  const std::string above = inherited();
  return above + (above.empty() ? "" : " ") + key_of(url, name) + ":";
}

bool is_held_above(const Session& session, const std::string& url, const Name& name) {
  const std::string token = token_above(key_of(url, name));
  std::array<int, 2> ends;
  if (token.empty() || pipe(ends.data()) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const bool held = has_holder(session, name, token);
    _exit(held && write(ends[1], "y", 1) == 1 ? 0 : 1);
  }
  close(ends[1]);
  char answer = 'n';
  const bool held = child > 0 && read(ends[0], &answer, 1) == 1;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return held;
}

}  // namespace holdfast::cli
