#include "redis_raw.h"

#include <chrono>
#include <stdexcept>
#include <vector>

#include "samples.h"

namespace holdfast::bench {

namespace {

constexpr std::string_view kTtlMs = "30000";

constexpr std::string_view kTakeWithToken =
    "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then "
    "return redis.call('INCR', KEYS[2]) end return false";
constexpr std::string_view kGive =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

// A command as hiredis wants it.
class Arguments {
 public:
  Arguments(RedisRaw::Words words) {
    for (const std::string_view word : words) {
      starts_[count_] = word.data();
      sizes_[count_++] = word.size();
    }
  }
  int count() const { return count_; }
  const char** starts() { return starts_; }
  const std::size_t* sizes() const { return sizes_; }

 private:
  static constexpr int kMax = 16;
  int count_ = 0;
  const char* starts_[kMax] = {};
  std::size_t sizes_[kMax] = {};
};

}  // namespace

std::string_view Ids::next() {
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t bits = random_();
    for (std::size_t i = 0; i < 16; ++i, bits >>= 4) text_[half * 16 + i] = kDigits[bits & 15];
  }
  return {text_, sizeof text_};
}

RedisRaw::RedisRaw(int port) {
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  context_.reset(redisConnectWithTimeout("127.0.0.1", port, patience));
  if (!context_ || context_->err != 0) {
    throw std::runtime_error(std::string("redis-server: ") +
                             (context_ ? context_->errstr : "no memory"));
  }
  redisSetTimeout(context_.get(), patience);
}

void RedisRaw::append(Words words) {
  Arguments arguments(words);
  redisAppendCommandArgv(context_.get(), arguments.count(), arguments.starts(), arguments.sizes());
}

Reply RedisRaw::read() {
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK) {
    throw std::runtime_error(std::string("redis-server: ") + context_->errstr);
  }
  Reply owned(static_cast<redisReply*>(reply));
  if (owned->type == REDIS_REPLY_ERROR) {
    throw std::runtime_error("redis-server: " + std::string(owned->str, owned->len));
  }
  return owned;
}

Reply RedisRaw::call(Words words) {
  append(words);
  return read();
}

std::string RedisRaw::load_script(std::string_view script) {
  const Reply hash = call({"SCRIPT", "LOAD", script});
  return {hash->str, hash->len};
}

double RedisRaw::ping_us(int count) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> trips;
  for (int i = 0; i < count; ++i) {
    const Clock::time_point begin = Clock::now();
    call({"PING"});
    trips.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return median(trips);
}

RedisRawLock::RedisRawLock(int port, Take take)
    : connection_(port),
      take_(take),
      take_script_(connection_.load_script(kTakeWithToken)),
      give_script_(connection_.load_script(kGive)) {}

void RedisRawLock::append_take(std::string_view name, std::string_view id) {
  if (take_ == Take::plain) {
    connection_.append({"SET", name, id, "NX", "PX", kTtlMs});
  } else {
    const std::string counter = std::string(name) + ":token";
    connection_.append({"EVALSHA", take_script_, "2", name, counter, id, kTtlMs});
  }
}

void RedisRawLock::append_give(std::string_view name, std::string_view id) {
  connection_.append({"EVALSHA", give_script_, "1", name, id});
}

void RedisRawLock::read_taken() {
  if (connection_.read()->type == REDIS_REPLY_NIL) {
    throw std::runtime_error("a raw lock that nobody else uses is taken");
  }
}

void RedisRawLock::read_given() {
  if (connection_.read()->integer != 1) {
    throw std::runtime_error("a raw lock was lost before its release");
  }
}

void RedisRawLock::take(std::string_view name) {
  id_ = ids_.next();
  append_take(name, id_);
  read_taken();
}

void RedisRawLock::give(std::string_view name) {
  append_give(name, id_);
  read_given();
}

void RedisRawLock::pairs(const std::vector<std::string>& names) {
  std::vector<std::string> owners;
  owners.reserve(names.size());
  for (const std::string& name : names) append_take(name, owners.emplace_back(ids_.next()));
  for (std::size_t i = 0; i < names.size(); ++i) read_taken();
  for (std::size_t i = 0; i < names.size(); ++i) append_give(names[i], owners[i]);
  for (std::size_t i = 0; i < names.size(); ++i) read_given();
}

}  // namespace holdfast::bench
