#include "redis_connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <stdexcept>

namespace holdfast::test {
namespace {

std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_NIL: return "";
    case REDIS_REPLY_INTEGER: return std::to_string(reply.integer);
    case REDIS_REPLY_ERROR: return "ERR: " + std::string(reply.str, reply.len);
    case REDIS_REPLY_ARRAY: {
      std::string text;
      for (std::size_t i = 0; i < reply.elements; ++i) {
        text += (i == 0 ? "" : "\n") + text_of(*reply.element[i]);
      }
      return text;
    }
    default: return {reply.str, reply.len};
  }
}

}  // namespace

void RedisConnection::Free::operator()(redisContext* context) const { redisFree(context); }

RedisConnection::RedisConnection(int port, const std::string& password,
                                 std::chrono::milliseconds timeout) {
  const timeval limit{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
  context_.reset(redisConnectWithTimeout("127.0.0.1", port, limit));
  if (!context_ || context_->err != 0) {
    throw std::runtime_error("redis at 127.0.0.1:" + std::to_string(port) + ": " +
                             (context_ ? context_->errstr : "no memory"));
  }
  fcntl(context_->fd, F_SETFD, FD_CLOEXEC);  // hiredis does not
  redisSetTimeout(context_.get(), limit);
  if (password.empty()) return;
  const std::string reply = command({"AUTH", password});
  if (reply != "OK") throw std::runtime_error("AUTH: " + reply);
}

std::string RedisConnection::command(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const int count = static_cast<int>(words.size());
  return text_of_reply(redisCommandArgv(context_.get(), count, texts.data(), sizes.data()));
}

std::string RedisConnection::read() {
  void* reply = nullptr;
  redisGetReply(context_.get(), &reply);
  return text_of_reply(reply);
}

std::string RedisConnection::text_of_reply(void* reply) const {
  if (reply == nullptr) throw std::runtime_error(std::string("redis: ") + context_->errstr);
  const std::unique_ptr<void, void (*)(void*)> owner(reply, freeReplyObject);
  return text_of(*static_cast<const redisReply*>(reply));
}

std::string RedisConnection::address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(context_->fd, reinterpret_cast<sockaddr*>(&address), &size);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

}  // namespace holdfast::test
