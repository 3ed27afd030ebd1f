#include "redis_monitor.h"

#include <stdexcept>

namespace holdfast::test {
namespace {

// 1794788905.421067 [0 127.0.0.1:48328] "set" "a" "1"    by a client
// 1794788905.421067 [0 lua] "set" "a" "1"                by a script
std::string sender_of(const std::string& line) {
  const std::size_t begin = line.find(' ', line.find('[')) + 1;
  return line.substr(begin, line.find(']', begin) - begin);
}

}  // namespace

RedisMonitor::RedisMonitor(int port, const std::string& password) : connection_(port, password) {
  const std::string reply = connection_.command({"MONITOR"});
  if (reply != "OK") throw std::runtime_error("MONITOR: " + reply);
}

long long RedisMonitor::count_until(const std::string& marker, const std::set<std::string>& own) {
  const std::string end = "\"" + marker + "\"";
  for (long long count = 0;;) {
    const std::string line = connection_.read();
    if (line.ends_with(end)) return count;
    const std::string sender = sender_of(line);
    if (sender != "lua" && !own.contains(sender)) ++count;
  }
}

}  // namespace holdfast::test
