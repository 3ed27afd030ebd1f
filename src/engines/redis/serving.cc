#include "engines/redis/serving.h"

namespace holdfast::internal::redis {

// A waiter is
//   here   if a client listens on its channel;
//   dead   if none does, though one did since this server began;
//   away   if its channel was made on another run of the server, or on another server (the channel's name has
//          the run id in it): after a restart, a failover or a move of its slot it has not come back yet.
// An open connection proves little: its client may be stopped. A release does not ask for more: it hands the
// lock to the head of the queue if that is here, for a short time. But when the lock is found free although
// somebody waits, the last offer may have lapsed, and the next ones would too, one after the other. Likewise
// if the head is away. Then a roll call begins: the waiters are told to ask, and those that do not ask within
// CALL_US are passed over, all at once; the foremost of those that asked is next. A live waiter that was passed
// over enters the queue again where it stood, because it brings the time at which it came.
//
// The call is a member of the queue, ahead of all others: "call RUN KIND FIRST". KIND 'l': the queue was lost
// with the data, so even the first place means nothing until the others have come back. KIND 'a': a waiter
// that asks and is at the head is served at once. FIRST: the foremost of those that asked.
//
// One call of a script looks at BATCH waiters at most, or a long queue of the dead would block the server.
// `more` says that there is more to do; the client then asks again.
std::string serving_source() {
  return R"lua(
local BATCH, WIDTH, CALL_US = 512, 128, 3000000
local run, call, more, states, asking = nil, nil, 0, {}, ''

local function run_id()
  if not run then
    local info = redis.pcall('INFO', 'server')
    run = type(info) == 'string' and string.match(info, 'run_id:(%x%x%x%x%x%x%x%x)') or ''
  end
  return run
end

local function parse(member)
  return string.match(member, '^(%x+) (%a) (%d+) (%d+) (%S+) (.*)$')
end

local function state_of(channel)
  if not states[channel] then
    if redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0 then
      states[channel] = 'here'
    else
      local made_on = string.match(channel, '^holdfast:%x+:(%x+)')
      local away = made_on and run_id() ~= '' and made_on ~= run_id()
      states[channel] = away and 'away' or 'dead'
    end
  end
  return states[channel]
end

-- ---- The roll call

local function note_call(kind, since, best)
  if call then redis.call('ZREM', queue, call.member) end
  call = {member = 'call ' .. run_id() .. ' ' .. kind .. ' ' .. best, since = since, kind = kind, best = best}
  redis.call('ZADD', queue, string.format('%.0f', -since), call.member)
  redis.call('PEXPIRE', queue, 60000)
end

local function end_call()
  if call then redis.call('ZREM', queue, call.member) end
  call = nil
end

local function read_call()
  local head = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
  local of, kind, best = string.match(head[1] or '', '^call (%x*) (%a) (.*)$')
  if not of then return end
  call = {member = head[1], since = -head[2], kind = kind, best = best}
  -- One of another server, or from a later time: it begins again here.
  if of ~= run_id() or call.since > now_us then note_call(kind, now_us, best) end
end

local function begin_call()
  note_call('a', now_us, asking)
  for _, member in ipairs(redis.call('ZRANGE', queue, 1, 200)) do
    local id, _, _, _, channel = parse(member)
    if id and member ~= asking then redis.pcall('PUBLISH', channel, 'look ' .. id) end
  end
end

-- The waiter that asks now is alive.
local function answer_call(member)
  asking = member
  if not call or call.kind ~= 'a' or call.best == member then return end
  local best = call.best ~= '' and redis.call('ZRANK', queue, call.best)
  if not best or redis.call('ZRANK', queue, member) < best then note_call('a', call.since, member) end
end

local function call_left_ms() return math.max(math.ceil((call.since + CALL_US - now_us) / 1000), 1) end

-- ---- Serving

-- What is pushed is short at first, because a listener may be half dead: its first renewal makes it whole.
local function push(id, label, mode, permits, ttl, channel)
  ttl = math.min(tonumber(ttl), 5000)
  local token = grant(id, label, mode, permits, ttl)
  redis.pcall('PUBLISH', channel, string.format('grant %s %.0f %d', id, token, ttl))
end

-- Drops the dead at the front. Returns the first that is not dead, and its state, if there is one in sight.
local function find_head(self, width)
  local over = call and now_us - call.since >= CALL_US
  local first = call and 1 or 0
  local heads = redis.call('ZRANGE', queue, first, first + width - 1)
  local gone, head, state = {}, nil, nil
  for _, member in ipairs(heads) do
    local id, _, _, _, channel = parse(member)
    state = 'dead'
    if id and id == self then
      state = 'self'
    elseif id and not (over and member ~= call.best) then
      state = state_of(channel)
      if (over and state == 'away') or
         (state ~= 'dead' and redis.call('HEXISTS', holds, id) == 1) then  -- or it stands here twice
        state = 'dead'
      end
    end
    if state ~= 'dead' then
      head = member
      break
    end
    gone[#gone + 1] = member
  end
  if #gone > 0 then redis.call('ZREM', queue, unpack(gone)) end
  return head, state, #gone
end

-- Grants to the head of the queue as long as it can be; the token, if that was `self`. `trusting`: the lock was
-- held until now, so no offer has lapsed.
local function serve(self, trusting)
  local mine
  local seen, width = 0, 1
  if call and call.kind == 'l' and now_us - call.since < CALL_US then return nil end
  if call and (call.kind == 'l' or trusting) then end_call() end
  local value = redis.call('GET', word)
  if value and not string.find(value, GROUP) then return nil end
  while seen < BATCH do
    local head, state, gone = find_head(self, width)
    seen = seen + gone
    if not head and gone == 0 then
      end_call()
      return mine
    end
    width = gone > 0 and WIDTH or 1
    if head then
      local id, mode, permits, ttl, channel, label = parse(head)
      if not admits(mode, permits) then return mine end
      local chosen = trusting or mine or (call and call.best == head and now_us - call.since >= CALL_US)
      if state == 'self' then
        redis.call('ZREM', queue, head)
        mine = grant(id, label, mode, permits, tonumber(ttl))
      elseif state == 'here' and chosen then
        redis.call('ZREM', queue, head)
        push(id, label, mode, permits, ttl, channel)
      else
        if not call then begin_call() end
        return mine
      end
      end_call()
      seen = seen + 4
    end
  end
  more = 1
  return mine
end

-- The dead around a waiter that looks. Each that lives clears the dead next to it, ahead and behind, so that
-- all go, though nobody releases.
local function sweep(rank)
  local function drop(from, to)
    local gone = {}
    for _, member in ipairs(redis.call('ZRANGE', queue, math.max(from, 0), to)) do
      local id, _, _, _, channel = parse(member)
      if id and member ~= asking and state_of(channel) == 'dead' then gone[#gone + 1] = member end
    end
    if #gone > 0 then redis.call('ZREM', queue, unpack(gone)) end
    return #gone > 0
  end
  if drop(rank - 1, rank + 1) then
    drop(rank - BATCH / 2, rank + BATCH / 2)
    more = 1
  end
end
)lua";
}

}  // namespace holdfast::internal::redis
