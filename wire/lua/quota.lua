-- Counts what a tenant stores and is about to store. The caller counts in the database what is
-- stored; the counters only carry that count on to the next one.
-- KEYS: the counters, the open reservations by their end. ARGV: an operation and its arguments:
--   reserve TASKS BYTES MEMBER MOST_TASKS MOST_BYTES MILLISECONDS: -1 is no limit. Returns 1 where
--     it is made; 0, the quota (1 tasks, 2 bytes) and its use where it would exceed it; 2 where
--     nothing was counted yet. MEMBER is "ID TASKS BYTES".
--   settle MEMBER: what was reserved is committed.
--   release TASKS BYTES MEMBER: it was rolled back.
--   look APART PATIENCE: before a count. Returns 0 where the last look is less than APART ms old, so
--     that one caller counts, or where a count was given up less than PATIENCE ms ago; else 1, then
--     tasks and bytes reserved ever, and those in open reservations.
--   give_up: a count took too long for a call.
--   count MADE_TASKS MADE_BYTES OPEN_TASKS OPEN_BYTES TASKS BYTES: as look told, then as counted. A
--     reservation that was open at the look, or made since, counts besides: never too little.
--   forget: the count holds no longer, since not everything since was reserved.
--   read: returns tasks, bytes and the time of the count in ms, or -1 each.
local counters, open = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local kept = 86400000
local names = {'tasks', 'bytes'}

local function number(index)
  return tonumber(ARGV[index])
end

local function counter(name)
  return tonumber(redis.call('HGET', counters, name) or '0')
end

local function add(sign)
  for index, name in ipairs(names) do
    -- Adding 0 makes a whole number of -0, which Redis takes for none.
    local change = string.format('%.0f', sign * number(1 + index) + 0)
    redis.call('HINCRBY', counters, name, change)
    redis.call('HINCRBY', counters, 'made_' .. name, change)
  end
end

local operations = {}

function operations.reserve()
  if redis.call('HEXISTS', counters, 'counted') == 0 then
    return {2}
  end
  redis.call('ZREMRANGEBYSCORE', open, '-inf', now)
  for index, name in ipairs(names) do
    local wanted, most, used = number(1 + index), number(4 + index), counter(name)
    if most >= 0 and wanted > 0 and used + wanted > most then
      return {0, index, used}
    end
  end
  add(1)
  redis.call('ZADD', open, now + number(7), ARGV[4])
  redis.call('PEXPIRE', counters, kept)
  redis.call('PEXPIRE', open, kept)
  return {1}
end

function operations.settle()
  return {redis.call('ZREM', open, ARGV[2])}
end

function operations.release()
  local was_open = redis.call('ZREM', open, ARGV[4])
  if was_open == 1 then
    add(-1)
  end
  return {was_open}
end

function operations.look()
  local since = now - counter('looked')
  if since >= 0 and since < number(2) then
    return {0}
  end
  local given_up = now - counter('given_up')
  if given_up >= 0 and given_up < number(3) then
    return {0}
  end
  redis.call('HSET', counters, 'looked', string.format('%.0f', now))
  redis.call('PEXPIRE', counters, kept)
  redis.call('ZREMRANGEBYSCORE', open, '-inf', now)
  local in_open = {0, 0}
  for _, member in ipairs(redis.call('ZRANGE', open, 0, -1)) do
    local tasks, bytes = string.match(member, '^%S+ (%d+) (%d+)$')
    in_open = {in_open[1] + tonumber(tasks), in_open[2] + tonumber(bytes)}
  end
  return {1, counter('made_tasks'), counter('made_bytes'), in_open[1], in_open[2]}
end

function operations.give_up()
  redis.call('HSET', counters, 'given_up', string.format('%.0f', now))
  redis.call('PEXPIRE', counters, kept)
  return {1}
end

function operations.count()
  for index, name in ipairs(names) do
    -- Less than the look told: Redis was emptied in between.
    local since = math.max(0, counter('made_' .. name) - number(1 + index))
    local used = number(5 + index) + math.max(0, number(3 + index)) + since
    redis.call('HSET', counters, name, string.format('%.0f', used))
  end
  redis.call('HSET', counters, 'counted', string.format('%.0f', now))
  redis.call('PEXPIRE', counters, kept)
  return {1}
end

function operations.forget()
  return {redis.call('HDEL', counters, 'counted', 'looked')}
end

function operations.read()
  if redis.call('HEXISTS', counters, 'counted') == 0 then return {-1, -1, -1} end
  return {counter('tasks'), counter('bytes'), counter('counted')}
end

return operations[ARGV[1]]()
