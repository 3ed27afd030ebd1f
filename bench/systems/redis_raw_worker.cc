#include "redis_raw_worker.h"

#include <sstream>

#include "pass.h"
#include "redis_raw.h"
#include "report.h"
#include "simple_worker.h"
#include "worker.h"

namespace holdfast::bench {

namespace {

class WordLock final : public SimpleLock {
 public:
  WordLock(int port, std::string name)
      : lock_(port, RedisRawLock::Take::plain), name_("raw-" + std::move(name)) {}
  void acquire() override { lock_.take(name_); }
  void release() override { lock_.give(name_); }

 private:
  RedisRawLock lock_;
  std::string name_;
};

// One token in a list.
class ListLock final : public SimpleLock {
 public:
  ListLock(int port, std::string name) : connection_(port), name_(std::move(name)) {
    // Of all processes, one puts the token there.
    if (connection_.call({"SET", name_ + "-token", "there", "NX"})->type != REDIS_REPLY_NIL) {
      connection_.call({"RPUSH", name_, "token"});
    }
  }
  // A worker that stops gives the token back first, so everybody gets it once more.
  void acquire() override { connection_.call({"BLPOP", name_, "0"}); }
  void release() override { connection_.call({"RPUSH", name_, "token"}); }

 private:
  RedisRaw connection_;
  std::string name_;
};

std::string flight(int port, std::istringstream& words) {
  int count = 0;
  double seconds = 0;
  words >> count >> seconds;
  RedisRawLock lock(port, RedisRawLock::Take::with_token);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("raw-" + std::to_string(i));
  const std::int64_t begin = monotonic_ns();
  double done = 0, took_s = 0;
  while (took_s < seconds) {
    lock.pairs(names);
    done += count;
    took_s = static_cast<double>(monotonic_ns() - begin) / 1e9;
  }
  return format("%.1f", done / took_s);
}

}  // namespace

int be_redis_raw_worker(const std::string& url) {
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  return be_simple_worker(
      {.make = [port](const std::string& name) { return std::make_unique<WordLock>(port, name); },
       .make_contended =
           [port](const std::string& name) { return std::make_unique<ListLock>(port, name); },
       .answer_other = [port](const std::string& verb, std::istringstream& words) -> std::string {
         return verb == "flight" ? flight(port, words) : kUnknownLine;
       }});
}

}  // namespace holdfast::bench
