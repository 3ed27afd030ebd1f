#include "classic_redlock.h"

#include <algorithm>
#include <stdexcept>

#include "redis_connection.h"

namespace holdfast::scenarios {
namespace {

// A node that cannot be reached answers "".
std::string ask(int port, const std::vector<std::string>& words) {
  try {
    return test::RedisConnection(port, "", std::chrono::seconds(1)).command(words);
  } catch (const std::runtime_error&) {
    return "";
  }
}

}  // namespace

std::optional<Judge::Worker> ClassicRedlock::try_lock(const std::string& name, Duration ttl) {
  const BootTime begin = BootClock::now();
  const auto ttl_ms = std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count();
  std::size_t votes = 0;
  std::uint64_t token = 0;
  for (const int port : ports_) {
    if (ask(port, {"SET", name, owner_, "NX", "PX", std::to_string(ttl_ms)}) != "OK") continue;
    ++votes;
    const std::string count = ask(port, {"INCR", name + ":count"});
    if (!count.empty()) token = std::max<std::uint64_t>(token, std::stoull(count));
  }
  if (votes <= ports_.size() / 2) {
    give_back(name);
    return std::nullopt;
  }
  const BootTime end = begin + ttl;
  return Judge::Worker{.held = [end] { return BootClock::now() < end; }, .token = Token(token)};
}

void ClassicRedlock::give_back(const std::string& name) {
  for (const int port : ports_) {
    if (ask(port, {"GET", name}) == owner_) ask(port, {"DEL", name});
  }
}

}  // namespace holdfast::scenarios
