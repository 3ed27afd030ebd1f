// RedisConnection: the tests' own blocking connection to a Redis server or sentinel, through
// hiredis over plain TCP.
//
// Thread safety: one thread at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

struct redisContext;

namespace holdfast::test {

class RedisConnection {
 public:
  // Throws std::runtime_error if nobody listens or the password is refused.
  explicit RedisConnection(int port, const std::string& password = "",
                           std::chrono::milliseconds timeout = std::chrono::seconds(10));

  // The reply as text: the elements of arrays, nested ones too, joined with newlines; integers as
  // digits; nil as ""; an error as "ERR: " and its text. Throws std::runtime_error if no reply
  // comes; the connection is of no use then.
  std::string command(const std::vector<std::string>& words);
  // The next message that the server sends unasked.
  std::string read();

  // Our end as the server names it: "127.0.0.1:40000".
  std::string address() const;

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };
  std::string text_of_reply(void* reply) const;

  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace holdfast::test
