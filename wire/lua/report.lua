-- Counts how calls ended, per destination, and moves circuits: the only place that opens and
-- closes them, except for a reset by hand.
-- ARGV, per destination: name, whether its breaker is on ("1"), calls, failures among them, token
-- of the probe that has ended ('' none), its result ("1" good, "0" bad, '' none), whether work
-- waited too long for a worker's slots ("1"), how many tokens have left it, the tokens.
-- Limits in Redis that have just changed override the given breaker.
-- Answers the names of destinations whose circuit has opened and, after '', of those whose circuit
-- has closed.
local BUCKET, BUCKETS, LEAST, OPEN, FULL = 10000, 6, 20, 30000, 30000
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local bucket = math.floor(now / BUCKET)
local changed = redis.call('EXISTS', 'punctual:limits_changed') == 1
local opened, closed = {}, {}

local function number(value)
  return string.format('%d', value)
end

local function open(name)
  redis.call('SET', 'punctual:circuit:' .. name, number(now + OPEN) .. '||0', 'PX', OPEN + 3600000)
  redis.call('ZADD', 'punctual:hot', 'GT', number(now + OPEN + 10000), name)
  opened[#opened + 1] = name
end

-- The sliding minute: a ring of buckets, each with the number of the stretch that it counts.
local function count(name, calls, failures)
  local key, place = 'punctual:calls:' .. name, bucket % BUCKETS
  local found = redis.call('HMGET', key, 'b' .. place, 'n' .. place, 'f' .. place)
  local fresh = tonumber(found[1] or '') ~= bucket
  redis.call('HSET', key, 'b' .. place, number(bucket),
             'n' .. place, number((fresh and 0 or tonumber(found[2])) + calls),
             'f' .. place, number((fresh and 0 or tonumber(found[3])) + failures))
  redis.call('PEXPIRE', key, BUCKET * (BUCKETS + 1))
end

local function failing(name)
  local flat = redis.call('HGETALL', 'punctual:calls:' .. name)
  local ring, calls, failures = {}, 0, 0
  for i = 1, #flat, 2 do
    ring[flat[i]] = tonumber(flat[i + 1])
  end
  for place = 0, BUCKETS - 1 do
    if ring['b' .. place] and ring['b' .. place] > bucket - BUCKETS then
      calls, failures = calls + ring['n' .. place], failures + ring['f' .. place]
    end
  end
  return calls >= LEAST and failures * 2 > calls
end

local function end_probe(name, token, verdict)
  local key = 'punctual:circuit:' .. name
  local state = redis.call('GET', key)
  local open_until, probe = string.match(state or '', '^(%d+)|(%d*)|')
  if probe ~= token then
    return
  elseif verdict == '1' then
    redis.call('DEL', key, 'punctual:calls:' .. name)
    closed[#closed + 1] = name
  elseif verdict == '0' then
    open(name)
  else
    redis.call('SET', key, open_until .. '||0', 'KEEPTTL')
  end
end

local i = 1
while i <= #ARGV do
  local name, breaker = ARGV[i], ARGV[i + 1] == '1'
  local calls, failures = tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local limits = changed and redis.call('GET', 'punctual:limits:' .. name)
  if limits then
    breaker = string.sub(limits, 1, 1) ~= '0'
  end
  local tokens = tonumber(ARGV[i + 7])
  for first = i + 8, i + 7 + tokens, 1000 do
    redis.call('ZREM', 'punctual:flying:' .. name,
               unpack(ARGV, first, math.min(first + 999, i + 7 + tokens)))
  end
  if ARGV[i + 4] ~= '' then
    end_probe(name, ARGV[i + 4], ARGV[i + 5])
  end
  if ARGV[i + 6] == '1' then
    redis.call('SET', 'punctual:full:' .. name, '1', 'PX', FULL)
    redis.call('ZADD', 'punctual:hot', 'GT', number(now + FULL), name)
  end
  if calls > 0 then
    count(name, calls, failures)
  end
  if failures > 0 and breaker and redis.call('EXISTS', 'punctual:circuit:' .. name) == 0
      and failing(name) then
    open(name)
  end
  i = i + 8 + tokens
end
opened[#opened + 1] = ''
for _, name in ipairs(closed) do
  opened[#opened + 1] = name
end
return opened
