#include "redis_traffic.h"

#include <cctype>
#include <cstdlib>
#include <sstream>

namespace holdfast::bench {

RedisTraffic::RedisTraffic(int port) : control_(port), monitor_(port) {
  monitor_.call({"MONITOR"});
}

std::map<std::string, std::int64_t> RedisTraffic::command_stats() {
  const Reply reply = control_.call({"INFO", "commandstats"});
  ++infos_sent_;
  std::map<std::string, std::int64_t> calls;
  // cmdstat_script|load:calls=1,usec=…
  std::istringstream lines(std::string(reply->str, reply->len));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cmdstat_")) continue;
    const std::string name = line.substr(8, line.find_first_of("|:") - 8);
    calls[name] += std::atoll(line.c_str() + line.find("calls=") + 6);
  }
  return calls;
}

// 1794788777.190842 [0 lua] "set" "a" "1"
void RedisTraffic::read_line() {
  const Reply reply = monitor_.read();
  const std::string_view line(reply->str, reply->len);
  const std::size_t bracket = line.find(']');
  const std::size_t quote = line.find('"', bracket);
  if (bracket == line.npos || quote == line.npos) return;
  std::string name(line.substr(quote + 1, line.find('"', quote + 1) - quote - 1));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool by_script = line.substr(0, bracket).ends_with(" lua");
  if (name == "info" && !by_script) {
    ++infos_seen_;
  } else if (by_script && infos_seen_ > 0) {
    ++by_scripts_[name];
  }
}

void RedisTraffic::begin() { before_ = command_stats(); }

std::map<std::string, std::int64_t> RedisTraffic::end() {
  std::map<std::string, std::int64_t> sent = command_stats();
  while (infos_seen_ < infos_sent_) read_line();
  for (const auto& [name, calls] : before_) sent[name] -= calls;
  for (const auto& [name, calls] : by_scripts_) sent[name] -= calls;
  sent.erase("info");  // our own
  std::erase_if(sent, [](const auto& entry) { return entry.second == 0; });
  return sent;
}

}  // namespace holdfast::bench
