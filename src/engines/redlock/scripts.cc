#include "engines/redlock/scripts.h"

#include "base/eternal.h"

namespace holdfast::internal::redlock {

namespace {

// Numbers: tokens and times are microseconds, below 2^53 until the year 2255, so exact in Lua; but
// as text they need %.0f.

// accept(): the heart of it. REQUIRES: the word is the claim's. A token is accepted once, for one claim, and
// only if it is higher than all before. One that is far ahead of the clock is refused, so that a client whose
// clock is years off cannot use up the numbers (but not the next one, which would block the lock if the clock
// was set back). A claim that has the word already and votes `again`, after a lost answer, is told its token.
std::string accepting() {
  return R"lua(
local function read_fence()
  local text = redis.call('GET', KEYS[2])
  if not text then return 0, '' end
  local last, owner = string.match(text, '^(%d+) (%x+)$')
  if not last then error('fence: value is not an integer and a claim') end  -- before any write
  return tonumber(last), owner
end
local function accept(last, owner, id, token, again, holds)
  token = tonumber(token)
  if token == last and owner == id then return 1 end
  -- Granted by others: nobody else can be, so it may be written where a rejoin left no claim.
  if token == last and holds and owner == string.rep('0', 32) then
    redis.call('SET', KEYS[2], string.format('%.0f', token) .. ' ' .. id)
    return 1
  end
  if again and owner == id then  -- It has one already.
    return {'low', string.format('%.0f', last), '0', 1}
  end
  local most = math.max((redis.call('TIME')[1] + 3600) * 1000000, last + 1000)
  if token > most then  -- A refounded electorate begins an hour ahead of the clock.
    local above = string.match(redis.call('GET', KEYS[3]) or '', ' above=(%d+)$')
    if above then most = math.max(most, above + 1000) end
  end
  if token > last and token <= most then
    redis.call('SET', KEYS[2], string.format('%.0f', token) .. ' ' .. id)
    return 1
  end
  return {'low', string.format('%.0f', last), string.format('%.0f', most), owner == id and 1 or 0}
end
)lua";
}

std::string common() {
  return R"lua(
local word, queue, group, details = KEYS[1], KEYS[4], KEYS[5], KEYS[6]
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now_ms = math.floor(now_us / 1000)
local GROUP = 'holdfast:shared'

-- Ends what has expired; afterwards word, group and details agree.
local function drop_ended()
  if redis.call('GET', word) ~= GROUP then
    if redis.call('EXISTS', group) == 1 then redis.call('DEL', group, details) end
    return
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', group, '-inf', now_ms)) do
    redis.call('HDEL', details, id)
  end
  redis.call('ZREMRANGEBYSCORE', group, '-inf', now_ms)
  if redis.call('ZCARD', group) == 0 then redis.call('DEL', word, details) end
end

-- The word of a group lives as long as its longest member.
local function keep_group()
  local last = redis.call('ZREVRANGE', group, 0, 0, 'WITHSCORES')
  local left = math.max(last[2] - now_ms, 1)
  redis.call('SET', word, GROUP, 'PX', left)
  redis.call('PEXPIRE', group, left + 60000)
  redis.call('PEXPIRE', details, left + 60000)
end

-- A label begins with the number of the attempt.
local function attempt_of(id)
  local value = redis.call('GET', word) or ''
  if value == GROUP then
    return tonumber(string.match(redis.call('HGET', details, id) or '', '^%d+ %d+ (%d+) ') or 0)
  end
  return tonumber(string.match(value, '^%x+ (%d+) ') or 0)
end

-- An older vote of the same claim, late, does not make a newer one its own.
local function set_word(id, label, mode, ttl, again)
  if again then
    local attempt, rest = string.match(label, '^(%d+) (.*)$')
    label = string.format('%.0f', math.max(tonumber(attempt), attempt_of(id))) .. ' ' .. rest
  end
  if mode == 'x' then
    redis.call('SET', word, id .. ' ' .. label, 'PX', ttl)
  else
    local token, since =
      string.match(redis.call('HGET', details, id) or '', '^(%d+) (%d+) ')
    redis.call('ZADD', group, now_ms + ttl, id)
    redis.call('HSET', details, id,
      (token or '0') .. ' ' .. (since or string.format('%.0f', now_us)) .. ' ' .. label)
    keep_group()
  end
end

local function note_token(id, token)
  local since, label = string.match(redis.call('HGET', details, id), '^%d+ (%d+) (.*)$')
  redis.call('HSET', details, id, token .. ' ' .. since .. ' ' .. label)
end

local function is_mine(id, mode)
  if mode == 's' then return redis.call('HEXISTS', details, id) == 1 end
  local value = redis.call('GET', word)
  return value and string.sub(value, 1, 33) == id .. ' '
end

local function free_word(id, attempt)
  if attempt_of(id) > attempt then return 0 end
  local value = redis.call('GET', word)
  if value and string.sub(value, 1, 33) == id .. ' ' then
    redis.call('DEL', word)
    return 1
  end
  if redis.call('HEXISTS', details, id) == 0 then return 0 end
  redis.call('ZREM', group, id)
  redis.call('HDEL', details, id)
  if redis.call('ZCARD', group) == 0 then redis.call('DEL', word, details) else keep_group() end
  return 1
end

local function admits(mode)
  local value = redis.call('GET', word)
  return not value or (mode == 's' and value == GROUP)
end

-- Keeps the word, for a moment, for those who wait at the head of the line, and tells them; a
-- waiter whom nobody hears is dead. It is no vote: the waiter asks for that. True if `self` is the
-- head and could have it. The `giver` has just given the word back to wait for more: offered the
-- same again at once, it would ask again at once, for as long as another has the majority.
local function serve(self, giver)
  while true do
    local head = redis.call('ZRANGE', queue, 0, 0)[1]
    if not head then return false end
    local id, mode, keep, channel, label = string.match(head, '^(%x+) (%a) 1 (%d+) (%S+) (.*)$')
    if id and (id == giver or not admits(mode)) then return false end
    redis.call('ZREM', queue, head)
    if id and id == self then return true end
    if id and redis.call('HEXISTS', details, id) == 0 then  -- Else it reads already.
      local heard = redis.pcall('PUBLISH', channel, 'grant ' .. id .. ' 1 ' .. keep)
      if type(heard) == 'number' and heard > 0 then set_word(id, label, mode, tonumber(keep), false) end
    end
  end
end

-- By the time they came. The client's clock gives the same order at all nodes; one that is off is not
-- believed, but how long they have been waiting is.
local function queue_up(member, arrival)
  local age_us, at_us = string.match(arrival, '^(%d+) (%d+)$')
  local came = now_us - age_us
  if math.abs(came - at_us) < 1000000 then came = tonumber(at_us) end
  redis.call('ZADD', queue, 'NX', string.format('%.0f', came), member)
  redis.call('PEXPIRE', queue, 3600000)
end
)lua";
}

}  // namespace

// It costs no more than it must: each key, argument and call of a script costs. The clock is read only
// for a token that is an hour ahead of the last one.
const std::string& take_source() {
  static const Eternal<std::string> source = R"lua(
local marker = redis.call('GET', KEYS[3])
if marker ~= ARGV[4] then return {'closed', marker or ''} end
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
local fence = redis.call('GET', KEYS[2])
local last = 0
if fence then last = tonumber(string.match(fence, '^(%d+) %x+$')) end
if not last then return 0 end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local value = redis.call('GET', KEYS[1])
  if value == 'holdfast:shared' or string.sub(value, 1, 33) == string.sub(ARGV[1], 1, 33) then
    return 0
  end
  return {'busy', string.format('%.0f', last), value, redis.call('PTTL', KEYS[1]), 0}
end
local token = tonumber(ARGV[3])
local most = last + 3600000000
if token > most then
  most = math.max(most, (redis.call('TIME')[1] + 3600) * 1000000)
  local above = string.match(marker, ' above=(%d+)$')
  if above then most = math.max(most, above + 1000) end
end
if token > last and token <= most then
  redis.call('SET', KEYS[2], ARGV[3] .. ' ' .. string.sub(ARGV[1], 1, 32))
  return 1
end
return {'low', string.format('%.0f', last), string.format('%.0f', most), 0}
)lua";
  return source;
}

const std::string& give_source() {
  static const Eternal<std::string> source = R"lua(
local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, 33) == ARGV[1] .. ' ' and
   tonumber(string.match(value, '^%x+ (%d+) ') or 0) <= tonumber(ARGV[2]) and
   redis.call('EXISTS', KEYS[2]) == 0 then
  return redis.call('DEL', KEYS[1])
end
return 2
)lua";
  return source;
}

const std::string& vote_source() {
  static const Eternal<std::string> source = accepting() + R"lua(
local marker = redis.call('GET', KEYS[3])
if marker ~= ARGV[4] then return {'closed', marker or ''} end
local id, mode = string.sub(ARGV[1], 1, 32), ARGV[5]
local last, owner = read_fence()
)lua" + common() + R"lua(
local label, ttl, arrival, member =
  string.sub(ARGV[1], 34), tonumber(ARGV[2]), ARGV[6], id .. ' ' .. ARGV[7]
drop_ended()
local again = is_mine(id, mode)
if again or ((serve(id) or redis.call('EXISTS', queue) == 0) and admits(mode)) then
  set_word(id, label, mode, ttl, again)
  local answer = accept(last, owner, id, ARGV[3], again, ARGV[8] == '1')
  if mode == 's' and answer == 1 then note_token(id, ARGV[3]) end
  return answer
end
if arrival ~= '0' then queue_up(member, arrival) end
local value = redis.call('GET', word) or ''
local left = redis.call('PTTL', word)
local first = redis.call('ZRANGE', group, 0, 0, 'WITHSCORES')[2]
if value == GROUP and first then left = math.max(first - now_ms, 0) end
return {'busy', string.format('%.0f', last), value, left,
  redis.call('ZRANK', queue, member) or redis.call('ZCARD', queue)}
)lua";
  return source;
}

const std::string& fence_source() {
  static const Eternal<std::string> source = accepting() + common() + R"lua(
local marker = redis.call('GET', KEYS[3])
if marker ~= ARGV[3] then return {'closed', marker or ''} end
drop_ended()
if not is_mine(ARGV[1], ARGV[4]) then return {'gone'} end
local last, owner = read_fence()
local answer = accept(last, owner, ARGV[1], ARGV[2], false)
if ARGV[4] == 's' and answer == 1 then note_token(ARGV[1], ARGV[2]) end
return answer
)lua";
  return source;
}

const std::string& renew_source() {
  static const Eternal<std::string> source = R"lua(
local id, mode = ARGV[1], ARGV[4]
if mode == 'x' then
  local value, fence = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
  local mine = fence == ARGV[3] .. ' ' .. id
  local its_word = value and string.sub(value, 1, 33) == id .. ' '
  if its_word and mine then
    if string.sub(value, 34, 35) == '0 ' then return 2 end  -- Only kept for it: to be voted for.
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return 1
  end
  if value and not its_word then return 0 end
  if fence == ARGV[3] .. ' ' .. string.rep('0', 32) then return 2 end  -- The node has rejoined.
  if value then return 0 end
  if mine or not fence or tonumber(string.match(fence, '^%d+')) < tonumber(ARGV[3]) then return 2 end
  return 0
end
)lua" + common() + R"lua(
drop_ended()
local held = redis.call('HGET', details, id)
if not held or string.match(held, '^%d+') ~= ARGV[3] then return 0 end
-- A server that is out of memory refuses ZADD as the first write of a script, not as a later one.
redis.call('PEXPIRE', word, ARGV[2])
redis.call('ZADD', group, now_ms + ARGV[2], id)
keep_group()
return 1
)lua";
  return source;
}

const std::string& release_source() {
  static const Eternal<std::string> source = common() + R"lua(
drop_ended()
local held = free_word(ARGV[1], tonumber(ARGV[4]))
local member = ARGV[1] .. ' ' .. ARGV[3]
if ARGV[2] == '0' then
  redis.call('ZREM', queue, member)
elseif not is_mine(ARGV[1], string.sub(ARGV[3], 1, 1)) then  -- a later attempt has it
  queue_up(member, ARGV[2])
end
serve(nil, ARGV[2] ~= '0' and ARGV[1] or nil)
return held
)lua";
  return source;
}

const std::string& evict_source() {
  static const Eternal<std::string> source = accepting() + common() + R"lua(
drop_ended()
local last, owner = read_fence()
if string.format('%.0f', last) == ARGV[1] and owner ~= '' and free_word(owner, math.huge) == 1 then
  serve(nil)
  return 1
end
for _, id in ipairs(redis.call('ZRANGE', group, 0, -1)) do
  if string.match(redis.call('HGET', details, id) or '', '^%d+') == ARGV[1] then
    free_word(id, math.huge)
    serve(nil)
    return 1
  end
end
return 0
)lua";
  return source;
}

// A word that is only kept for somebody is not shown: nobody voted for it.
const std::string& inspect_source() {
  static const Eternal<std::string> source = accepting() + R"lua(
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local last, owner = read_fence()
local value = redis.call('GET', KEYS[1])
if value and string.find(value, '^' .. string.rep('%x', 32) .. ' ') and
   string.sub(value, 1, 32) ~= owner then
  value = false
end
return {value, redis.call('PTTL', KEYS[1]), string.format('%.0f', last),
  redis.call('ZRANGEBYSCORE', KEYS[5], math.floor(now_us / 1000) + 1, '+inf', 'WITHSCORES'),
  redis.call('HGETALL', KEYS[6]), redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES'),
  string.format('%.0f', now_us)}
)lua";
  return source;
}

// ---- Markers -----------------------------------------------------------------------------------

namespace {

std::string looking() {
  return R"lua(
local time = redis.call('TIME')
return {redis.call('GET', KEYS[1]) or '',
  string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))}
)lua";
}

}  // namespace

const std::string& look_source() {
  static const Eternal<std::string> source = looking();
  return source;
}

const std::string& found_source() {
  static const Eternal<std::string> source = R"lua(
local marker = redis.call('GET', KEYS[1])
local run = marker and string.match(marker, '^founding %d+ %d+ ?(%x*)$')
if not marker or (run and run ~= ARGV[3]) then
  redis.call('SET', KEYS[1], table.concat({'founding', ARGV[1], ARGV[2], ARGV[3]}, ' '))
end
)lua" + looking();
  return source;
}

const std::string& mark_source() {
  static const Eternal<std::string> source = R"lua(
local marker = redis.call('GET', KEYS[1])
if not marker or string.find(marker, '^founding ') then
  redis.call('SET', KEYS[1],
    table.concat({'marked', ARGV[1], ARGV[2], '0.0 0 0 0', ARGV[3]}, ' '))
end
)lua" + looking();
  return source;
}

const std::string& raise_source() {
  static const Eternal<std::string> source = R"lua(
local number, nonce, longest, nodes, established, opening, above = string.match(
  redis.call('GET', KEYS[1]) or '', '^(%d+)%.(%d+) (%d+) (%d+) (%d) (%d+ %x+)(.*)$')
if number then
  local n, m = tonumber(number), tonumber(nonce)
  local new_n, new_m = tonumber(ARGV[1]), tonumber(ARGV[2])
  if new_n > n or (new_n == n and new_m > m) then
    number, nonce, established = ARGV[1], ARGV[2], ARGV[4]
  elseif new_n == n and new_m == m and ARGV[4] == '1' then
    established = '1'
  end
  local floor = math.max(tonumber(string.match(above, '^ above=(%d+)$') or 0), tonumber(ARGV[5]))
  above = floor > 0 and string.format(' above=%.0f', floor) or ''
  redis.call('SET', KEYS[1], string.format('%s.%s %.0f %s %s %s%s', number, nonce,
    math.max(tonumber(longest), tonumber(ARGV[3])), nodes, established, opening, above))
end
)lua" + looking();
  return source;
}

const std::string& join_source() {
  static const Eternal<std::string> source = R"lua(
if redis.call('GET', KEYS[1]) == ARGV[1] then
  local time = redis.call('TIME')
  local until_ms = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
  redis.call('SET', KEYS[1], ARGV[2] .. string.format('%.0f', until_ms))
end
)lua" + looking();
  return source;
}

const std::string& change_source() {
  static const Eternal<std::string> source = R"lua(
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) end
)lua" + looking();
  return source;
}

const std::string& adopt_source() {
  static const Eternal<std::string> source = R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for i = 2, #KEYS do
  local known = redis.call('GET', KEYS[i])
  local token = known and string.match(known, '^(%d+) %x+$') or '0'
  if tonumber(token) < tonumber(ARGV[i]) then token = ARGV[i] end
  redis.call('SET', KEYS[i], token .. ' ' .. string.rep('0', 32))
end
return 1
)lua";
  return source;
}

}  // namespace holdfast::internal::redlock
