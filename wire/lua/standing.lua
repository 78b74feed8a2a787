-- Returns the state of the named destinations and, on request, of those that were noted lately.
-- ARGV: "1" to include the latter, names.
-- Answers the time (ms), then of each destination a list: name, until when its circuit is open
-- (ms, 0 closed), until when a probe is under way (0 none), whether work has waited too long for
-- workers' slots, when its rate has the next slot (ms), calls that ended in the last ten to twenty
-- seconds, calls and failures of the last minute.
local BUCKET, BUCKETS = 10000, 6
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local bucket = math.floor(now / BUCKET)
local answers, seen = { now }, {}

local function minute(name)
  local flat = redis.call('HGETALL', 'punctual:calls:' .. name)
  local ring, recent, calls, failures = {}, 0, 0, 0
  for i = 1, #flat, 2 do
    ring[flat[i]] = tonumber(flat[i + 1])
  end
  for place = 0, BUCKETS - 1 do
    local counted = ring['b' .. place]
    if counted and counted > bucket - BUCKETS then
      calls, failures = calls + ring['n' .. place], failures + ring['f' .. place]
      if counted >= bucket - 1 then
        recent = recent + ring['n' .. place]
      end
    end
  end
  return recent, calls, failures
end

local function add(name)
  if seen[name] then
    return
  end
  seen[name] = true
  local state = redis.call('GET', 'punctual:circuit:' .. name)
  local open_until, probe, probe_until = string.match(state or '0||0', '^(%d+)|(%d*)|(%d+)$')
  local probing = probe ~= '' and tonumber(probe_until) > now
  local recent, calls, failures = minute(name)
  local slot = tonumber(redis.call('GET', 'punctual:rate:' .. name) or '') or 0
  answers[#answers + 1] = {
    name, tonumber(open_until), probing and tonumber(probe_until) or 0,
    redis.call('EXISTS', 'punctual:full:' .. name), math.ceil(slot), recent, calls, failures
  }
end

for i = 2, #ARGV do
  add(ARGV[i])
end
if ARGV[1] == '1' then
  redis.call('ZREMRANGEBYSCORE', 'punctual:hot', '-inf', string.format('%d', now))
  for _, name in ipairs(redis.call('ZRANGE', 'punctual:hot', 0, 999)) do
    add(name)
  end
end
return answers
