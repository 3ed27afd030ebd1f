#include "engines/redis/scripts.h"

#include "base/eternal.h"
#include "engines/redis/serving.h"

namespace holdfast::internal::redis {

namespace {

// Numbers: tokens and times are microseconds, below 2^53 until the year 2255, so exact in Lua;
// but as text they need %.0f, because tostring() rounds to 14 digits.
std::string common() {
  return std::string(R"lua(
local word, token_key, queue, holders, holds = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now_ms = math.floor(now_us / 1000)
local GROUP, OURS = '^holdfast:', '^' .. string.rep('%x', 32) .. ' '

local function next_token(ttl)
  local token = redis.call('INCR', token_key)
  if token < now_us - 1000 then
    token = now_us
    redis.call('SET', token_key, string.format('%.0f', token))
  end
  redis.call('PEXPIRE', token_key, 86400000 + ttl)
  return token
end

local function group_word(mode, permits)
  if mode == 's' then return 'holdfast:shared' end
  return 'holdfast:permits ' .. permits
end

-- Ends what has expired; afterwards word, holders and holds agree.
local function drop_ended()
  local value = redis.call('GET', word)
  if not value or not string.find(value, GROUP) then
    if redis.call('EXISTS', holders) == 1 then redis.call('DEL', holders, holds) end
    return
  end
  local ended = redis.call('ZRANGEBYSCORE', holders, '-inf', now_ms)
  if #ended > 0 then
    for _, id in ipairs(ended) do redis.call('HDEL', holds, id) end
    redis.call('ZREMRANGEBYSCORE', holders, '-inf', now_ms)
  end
  if redis.call('ZCARD', holders) == 0 then
    redis.call('DEL', word, holds)
  end
end

-- The word of a group lives as long as its longest member.
local function keep_group(value)
  local last = redis.call('ZREVRANGE', holders, 0, 0, 'WITHSCORES')
  local left = math.max(last[2] - now_ms, 1)
  redis.call('SET', word, value, 'PX', left)
  redis.call('PEXPIRE', holders, left + 60000)
  redis.call('PEXPIRE', holds, left + 60000)
end

local function end_member(id)
  redis.call('ZREM', holders, id)
  redis.call('HDEL', holds, id)
  if redis.call('ZCARD', holders) == 0 then
    redis.call('DEL', word, holds)
  else
    keep_group(redis.call('GET', word))
  end
end

local function admits(mode, permits)
  local value = redis.call('GET', word)
  if not value then return true end
  if mode == 'x' or value ~= group_word(mode, permits) then return false end
  return mode == 's' or redis.call('ZCARD', holders) < tonumber(permits)
end

local function grant(id, label, mode, permits, ttl)
  local token = next_token(ttl)
  if mode == 'x' then
    redis.call('SET', word, id .. ' ' .. label, 'PX', ttl)
  else
    redis.call('ZADD', holders, now_ms + ttl, id)
    redis.call('HSET', holds, id, string.format('%.0f %.0f ', token, now_us) .. label)
    keep_group(group_word(mode, permits))
  end
  return token
end
)lua") + serving_source();
}

// The word is mine now, and nobody waits.
std::string token_of_taken() {
  return R"lua(
local token = redis.pcall('INCR', KEYS[2])
if type(token) == 'table' then
  redis.call('DEL', KEYS[1])
  return token
end
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
if token < now_us - 1000 then
  token = now_us
  redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', 86400000)
end
return token
)lua";
}

}  // namespace

// The way of a lock that nobody else wants: it costs no more than it must. Each key and argument
// of a script costs, too.
const std::string& take_source() {
  static const Eternal<std::string> source = std::string(R"lua(
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local value = redis.call('GET', KEYS[1])
  if not string.find(value, '^' .. string.rep('%x', 32) .. ' ') or value == ARGV[1] then return 0 end
  return {0, redis.call('GET', KEYS[2]) or '0', value, redis.call('PTTL', KEYS[1]), 0, 0}
end
)lua") + token_of_taken();
  return source;
}

// A free lock is taken as above. Behind an exclusive holder nobody can be served: queueing up is all
// there is to do.
const std::string& acquire_source() {
  static const Eternal<std::string> source = std::string(R"lua(
local value = redis.call('GET', KEYS[1])
if not value and ARGV[3] == 'x' and tonumber(ARGV[2]) <= 600000 and ARGV[9] ~= '1' and
   redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
)lua") + token_of_taken() + R"lua(
end
if ARGV[5] == '1' and ARGV[3] ~= 'p' and value and value ~= ARGV[1] and
   not string.find(value, '^holdfast:') then
  local queue, member = KEYS[3], string.sub(ARGV[1], 1, 33) .. ARGV[6]
  local rank, came = redis.call('ZRANK', queue, member), '0'
  if not rank then
    local time = redis.call('TIME')
    local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0
    came = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
    redis.call('ZADD', queue, came, member)
    rank = redis.call('ZCARD', queue) - 1
  end
  -- A roll call stands ahead of all waiters.
  if rank > 0 and string.find(redis.call('ZRANGE', queue, 0, 0)[1], '^call ') then rank = rank - 1 end
  redis.call('PEXPIRE', queue, 60000)
  return {0, redis.call('GET', KEYS[2]) or '0', value, redis.call('PTTL', KEYS[1]), rank,
    string.find(value, '^' .. string.rep('%x', 32) .. ' ') and 0 or 1, 0, came}
end
)lua" + common() + R"lua(
local mine, ttl, mode, permits, wait, tail =
  ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local id, label = string.sub(mine, 1, 32), string.sub(mine, 34)
drop_ended()
value = redis.call('GET', word)
if value == mine then
  redis.call('PEXPIRE', word, ttl)
  return tonumber(redis.call('GET', token_key) or next_token(ttl))
end
local held = redis.call('HGET', holds, id)
if held then
  redis.call('PEXPIRE', word, ttl)  -- First of all: see renew.
  redis.call('ZADD', holders, now_ms + ttl, id)
  keep_group(value)
  return tonumber(string.match(held, '^%d+'))
end
if mode == 'p' and value and string.find(value, '^holdfast:permits ') and
   value ~= group_word(mode, permits) then
  return {2, string.match(value, '%d+$')}
end
if mode == 'p' then
  -- Those who wait agree with each other, so a look at some of them is enough.
  for _, other in ipairs(redis.call('ZRANGE', queue, 0, 99)) do
    local agreed = string.match(other, '^%x+ p (%d+) ')
    if agreed and agreed ~= permits then return {2, agreed} end
  end
end
local member = id .. ' ' .. tail
local function score_of(text)
  local rank = redis.call('ZRANK', queue, text)
  return rank and redis.call('ZRANGE', queue, rank, rank, 'WITHSCORES')[2]
end
read_call()
if ARGV[7] then  -- It came before.
  local came = score_of(member)
  local listed = came
  -- A write that needs no memory, so that a full server does not refuse the others to one who waits already.
  if listed then redis.call('PEXPIRE', queue, 60000) end
  for i = 10, #ARGV do
    local former = id .. ' ' .. ARGV[i]
    came = came or score_of(former)
    redis.call('ZREM', queue, former)
  end
  if not came then
    if ARGV[9] == '1' and not (call and call.kind == 'l') then
      note_call('l', call and call.since or now_us, '')
    end
    came = now_us - ARGV[7]
    if math.abs(came - ARGV[8]) < 2000000 then came = ARGV[8] end
    came = string.format('%.0f', came)
  end
  if not listed then redis.call('ZADD', queue, came, member) end
  answer_call(member)
end
local token = serve(id, false)
if token then return token end
if redis.call('EXISTS', queue) == 0 and admits(mode, permits) then
  return grant(id, label, mode, permits, ttl)
end
local rank = redis.call('ZRANK', queue, member)
if wait ~= '0' then
  if not rank then
    local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0
    redis.call('ZADD', queue, string.format('%.0f', math.max(last + 1, now_us)), member)
  elseif more == 0 then
    sweep(rank)
  end
  -- Nothing of a queue outlives its waiters for long; they look again much sooner.
  redis.call('PEXPIRE', queue, 60000)
end
rank = (redis.call('ZRANK', queue, member) or redis.call('ZCARD', queue)) - (call and 1 or 0)
value = redis.call('GET', word) or ''
local ours = value == '' or string.find(value, GROUP) or string.find(value, OURS)
local left = redis.call('PTTL', word)
local first = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')[2]
if first and string.find(value, GROUP) then left = math.max(first - now_ms, 0) end
if call then left = left < 0 and call_left_ms() or math.min(left, call_left_ms()) end
return {0, redis.call('GET', token_key) or '0', value, left, rank, ours and 0 or 1, more,
  score_of(member) or '0'}
)lua";
  return source;
}

const std::string& release_source() {
  static const Eternal<std::string> source = std::string(R"lua(
local value = redis.call('GET', KEYS[1])
local mine = value and string.sub(value, 1, 33) == ARGV[1] .. ' '
if ARGV[3] then  -- It has stood in the queue of another server, which may have become this one's.
  for i = 2, #ARGV do redis.call('ZREM', KEYS[3], ARGV[1] .. ' ' .. ARGV[i]) end
end
if mine then
  local head = redis.pcall('ZPOPMIN', KEYS[3])
  if head.err then  -- A key of another type: nobody waits there.
    redis.call('DEL', KEYS[1])
    return head
  end
  if not head[1] then return redis.call('DEL', KEYS[1]) end
  -- From one exclusive holder to the next, in short; see push() in serving.cc.
  local id, ttl, channel, label = string.match(head[1], '^(%x+) x %d+ (%d+) (%S+) (.*)$')
  if id and redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0 then
    local time = redis.call('TIME')
    local now_us = time[1] * 1000000 + time[2]
    local token = redis.call('INCR', KEYS[2])
    ttl = math.min(tonumber(ttl), 5000)
    if token < now_us - 1000 then
      token = now_us
      redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', 86400000 + ttl)
    end
    redis.call('SET', KEYS[1], id .. ' ' .. label, 'PX', ttl)
    redis.pcall('PUBLISH', channel, string.format('grant %s %.0f %d', id, token, ttl))
    return 1
  end
  redis.call('ZADD', KEYS[3], head[2], head[1])
  redis.call('PEXPIRE', KEYS[3], 60000)  -- It was gone if there was no other.
end
)lua") + common() + R"lua(
local id = ARGV[1]
local held = 0
drop_ended()
if mine then
  redis.call('DEL', word)
  held = 1
elseif redis.call('HEXISTS', holds, id) == 1 then
  end_member(id)
  held = 1
end
if ARGV[2] and held == 0 then redis.call('ZREM', queue, id .. ' ' .. ARGV[2]) end
read_call()
serve(nil, held == 1 or ARGV[2] == '')
return held + 2 * more
)lua";
  return source;
}

const std::string& keep_source() {
  static const Eternal<std::string> source = R"lua(
local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, 33) ~= ARGV[1] .. ' ' then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2] + 86400000)
return 1
)lua";
  return source;
}

// A server that is out of memory refuses commands that may need more, ZADD and SET among them, unless the script
// has written before: it is never stopped halfway. PEXPIRE needs no memory. So whatever renews begins with it.
const std::string& renew_source() {
  static const Eternal<std::string> source = common() + R"lua(
local id = ARGV[1]
local value = redis.call('GET', word)
drop_ended()
if redis.call('HEXISTS', holds, id) == 0 then return 0 end
redis.call('PEXPIRE', word, ARGV[2])
redis.call('ZADD', holders, now_ms + ARGV[2], id)
keep_group(value)
return 1
)lua";
  return source;
}

const std::string& evict_source() {
  static const Eternal<std::string> source = common() + R"lua(
drop_ended()
local value = redis.call('GET', word)
if not value then return 0 end
if not string.find(value, GROUP) then
  if not string.find(value, OURS) or redis.call('GET', token_key) ~= ARGV[1] then return 0 end
  redis.call('DEL', word)
  read_call()
  serve(nil, true)
  return 1
end
for _, id in ipairs(redis.call('ZRANGE', holders, 0, -1)) do
  if string.match(redis.call('HGET', holds, id) or '', '^%d+') == ARGV[1] then
    end_member(id)
    read_call()
    serve(nil, true)
    return 1
  end
end
return 0
)lua";
  return source;
}

const std::string& inspect_source() {
  static const Eternal<std::string> source = R"lua(
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]),
  redis.call('ZRANGEBYSCORE', KEYS[4], math.floor(now_us / 1000) + 1, '+inf', 'WITHSCORES'),
  redis.call('HGETALL', KEYS[5]), redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES'),
  string.format('%.0f', now_us)}
)lua";
  return source;
}

const std::string& read_record_source() {
  static const Eternal<std::string> source = "return redis.call('GET', KEYS[1])";
  return source;
}

const std::string& swap_record_source() {
  static const Eternal<std::string> source = R"lua(
local found = redis.call('GET', KEYS[1])
local function is(given, value)
  if given == '1' then return found == value end
  return not found
end
local done = is(ARGV[3], ARGV[4])
if not done and not is(ARGV[1], ARGV[2]) then return 0 end
if done and ARGV[5] == '0' then return 1 end
if ARGV[3] == '1' or done then redis.call('SET', KEYS[1], ARGV[4]) end
if ARGV[3] == '0' then redis.call('DEL', KEYS[1]) end
return 1
)lua";
  return source;
}

const std::string& time_source() {
  static const Eternal<std::string> source = "return redis.call('TIME')";
  return source;
}

}  // namespace holdfast::internal::redis
