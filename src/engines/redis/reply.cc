#include "engines/redis/reply.h"

#include <hiredis/hiredis.h>

#include <charconv>
#include <new>

#include "base/eternal.h"

namespace holdfast::internal::redis {

namespace {

// No reply to a command of ours has nearly as many items: it is not the protocol.
constexpr int kMaxItems = 1 << 20;

// hiredis' reader builds our replies itself: a root on the heap, items in their parent.
Reply* place_for(const redisReadTask* task) {
  if (!task->parent) return new (std::nothrow) Reply;
  return &static_cast<Reply*>(task->parent->obj)->items[static_cast<std::size_t>(task->idx)];
}

void* create_text(const redisReadTask* task, char* text, std::size_t size) {
  Reply* reply = place_for(task);
  if (!reply) return nullptr;
  reply->kind = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::error
                : task->type == REDIS_REPLY_STATUS ? Reply::Kind::status
                                                   : Reply::Kind::bulk;
  reply->text.assign(text, size);
  return reply;
}

// Count is an int or, since hiredis 1.0, a size_t.
template <class Count>
void* create_array(const redisReadTask* task, Count count) {
  const auto items = static_cast<long long>(count);
  if (items > kMaxItems) return nullptr;
  Reply* reply = place_for(task);
  if (!reply) return nullptr;
  reply->kind = Reply::Kind::array;
  reply->items.resize(items > 0 ? static_cast<std::size_t>(items) : 0);
  return reply;
}

void* create_integer(const redisReadTask* task, long long number) {
  Reply* reply = place_for(task);
  if (!reply) return nullptr;
  reply->kind = Reply::Kind::integer;
  reply->number = number;
  return reply;
}

void* create_nil(const redisReadTask* task) { return place_for(task); }

void free_root(void* root) { delete static_cast<Reply*>(root); }

#if HIREDIS_MAJOR >= 1
// Of RESP3, for which we never ask. Without these hiredis would give us a number in the place of a pointer.
void* refuse_double(const redisReadTask*, double, char*, std::size_t) { return nullptr; }
void* refuse_bool(const redisReadTask*, int) { return nullptr; }
#endif

redisReplyObjectFunctions functions{
    .createString = create_text,
    .createArray = create_array,
    .createInteger = create_integer,
#if HIREDIS_MAJOR >= 1
    .createDouble = refuse_double,
#endif
    .createNil = create_nil,
#if HIREDIS_MAJOR >= 1
    .createBool = refuse_bool,
#endif
    .freeObject = free_root,
};

}  // namespace

const Reply& Reply::at(std::size_t index) const {
  static const Eternal<Reply> nothing = Reply();
  return index < items.size() ? items[index] : *nothing;
}

std::int64_t Reply::as_number() const {
  if (kind == Kind::integer) return number;
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

ReplyParser::ReplyParser() : reader_(redisReaderCreateWithFunctions(&functions), &redisReaderFree) {
  if (!reader_) throw std::bad_alloc();
}
ReplyParser::~ReplyParser() = default;

bool ReplyParser::feed(std::string_view bytes, const std::function<void(Reply&&)>& on_reply,
                       std::string& problem) {
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    problem = reader_->errstr;
    return false;
  }
  for (;;) {
    void* raw = nullptr;
    if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
      problem = reader_->errstr;
      return false;
    }
    if (!raw) return true;
    const std::unique_ptr<Reply> owned(static_cast<Reply*>(raw));
    on_reply(std::move(*owned));
  }
}

}  // namespace holdfast::internal::redis
