// RedisRaw: what a program without Holdfast would write: one blocking hiredis connection and the two
// commands of the usual lock recipe.
//
// Thread safety: none; one connection per thread.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

// Unique ids, as a careful client of the recipe makes them: 128 random bits as 32 hex digits.
class Ids {
 public:
  // Valid until the next call.
  std::string_view next();

 private:
  std::mt19937_64 random_{std::random_device{}()};
  char text_[32] = {};
};

// All calls throw std::runtime_error when the connection fails or the server answers an error.
class RedisRaw {
 public:
  explicit RedisRaw(int port);

  using Words = std::initializer_list<std::string_view>;
  Reply call(Words words);
  // Pipelining: append() only fills a buffer, the first read() sends it.
  void append(Words words);
  Reply read();

  std::string load_script(std::string_view script);  // its hash
  // The median of many PINGs, in microseconds.
  double ping_us(int count);

 private:
  struct Close {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  std::unique_ptr<redisContext, Close> context_;
};

// The usual recipe on one connection: SET NX PX, then compare and delete in a script.
class RedisRawLock {
 public:
  enum class Take {
    plain,       // SET NX PX
    with_token,  // a script with SET NX PX and INCR: what a fencing token costs at least
  };
  RedisRawLock(int port, Take take);

  // Each a round trip. One name at a time.
  void take(std::string_view name);
  void give(std::string_view name);
  void pair(std::string_view name) { take(name), give(name); }
  // The same of many names, as two pipelined rounds.
  void pairs(const std::vector<std::string>& names);

 private:
  void append_take(std::string_view name, std::string_view id);
  void append_give(std::string_view name, std::string_view id);
  void read_taken();
  void read_given();

  RedisRaw connection_;
  Take take_;
  Ids ids_;
  std::string_view id_;  // of who has it
  std::string take_script_;
  std::string give_script_;
};

}  // namespace holdfast::bench
