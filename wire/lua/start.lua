-- Decides for a tick's worth of executions, atomically, which may start.
-- KEYS[1] incarnation, then the destinations of the questions, each once. ARGV: incarnation of the
-- message, worker, then of each destination its limits ('' for none, else "breaker,most,rate" as
-- "1,5,2.5"), then of each execution token, start-by (ms) and nonce, and where destinations are
-- named also the number of its own (0: none) and for how long it may run (ms). The nonce tells a
-- question that is asked again, because its answer was lost, from a second copy of the message.
-- Limits in Redis that have just changed override the given ones. Final refusals are counted.
-- Asking is a sign of life: a worker that was away and starts at once, before its next beat, would
-- be taken for lost and have its work run again.
-- Answers one each: 1 go, 2 go as the probe of a half-open circuit, 3 go in a place of its
-- destination that is to be given back, as that of a probe, 0 void or started already, -1
-- other incarnation, -2 too late; or a pair with a moment (ms): -3 its circuit is open until then,
-- -4 its rate has no slot before, -5 as many as allowed are in flight, ask again then, -6 a slot of
-- its rate is kept for it, ask again then.
local GO, PROBE, PLACED, VOID, STALE, LATE = 1, 2, 3, 0, -1, -2
local CIRCUIT_OPEN, NO_SLOT, NO_PLACE, SLOT_KEPT = -3, -4, -5, -6
-- How far ahead a slot is kept, and how long it stays good after its moment: at most 125 % of the
-- rate starts within any second. In milliseconds, as everything here.
local KEEP_AHEAD, SLOT_GOOD = 2000, 250
-- Slots within this hundredth of a second are taken at once: with a high rate nearly all work of a
-- tick would have to ask twice.
local TOGETHER = 10
local ASK_AGAIN, MARGIN, HOT = 250, 5000, 10000
local MARKED = 86400

local answers, refusals = {}, 0
local same = redis.call('GET', KEYS[1]) == ARGV[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local places = #KEYS - 1
local changed = places > 0 and redis.call('EXISTS', 'punctual:limits_changed') == 1

-- Only destinations with limits, or whose circuit is not closed, are checked further.
local special = {}
for first = 1, places, 1000 do
  local keys = {}
  for i = first, math.min(first + 999, places) do
    keys[#keys + 1] = 'punctual:circuit:' .. KEYS[i + 1]
  end
  local circuits = redis.call('MGET', unpack(keys))
  for i = 1, #keys do
    local limits = ARGV[1 + first + i]
    if changed then
      limits = redis.call('GET', 'punctual:limits:' .. KEYS[first + i]) or limits
    end
    if circuits[i] or limits ~= '' then
      local found = { name = KEYS[first + i], taken = {}, longest = 0 }
      local breaker, most, rate = string.match(limits, '^(%d),(%d*),(.*)$')
      found.most, found.rate = tonumber(most or ''), tonumber(rate or '')
      if circuits[i] and breaker ~= '0' then
        local open_until, probe, probe_until = string.match(circuits[i], '^(%d+)|(%d*)|(%d+)$')
        found.open_until, found.probe = tonumber(open_until), probe
        found.probe_until = tonumber(probe_until)
      end
      if found.most or found.rate or found.open_until then
        special[first + i - 1] = found
      end
    end
  end
end

local function note(destination, moment)
  if not destination.noted then
    destination.noted = true
    redis.call('ZADD', 'punctual:hot', 'GT', string.format('%d', moment + HOT), destination.name)
  end
end

-- Takes or keeps a slot of the rate (GCRA); answers nothing when it may start now.
local function slot_refused(destination, token, start_by)
  local kept = redis.call('GETDEL', 'punctual:slot:' .. token)
  local slot = kept and tonumber(kept)
  if slot and now < slot then
    redis.call('SET', 'punctual:slot:' .. token, kept, 'PX', string.format('%d', slot - now + 1000))
    return SLOT_KEPT, slot
  end
  if slot and now <= slot + SLOT_GOOD then
    return nil
  end
  local free = destination.free
  if not free then
    free = tonumber(redis.call('GET', 'punctual:rate:' .. destination.name) or '') or 0
  end
  free = math.max(now, free)
  slot = math.ceil(free)
  if slot > now + KEEP_AHEAD or slot > start_by then
    return NO_SLOT, slot
  end
  destination.free = free + 1000 / destination.rate
  if slot > now + TOGETHER then
    redis.call('SET', 'punctual:slot:' .. token, string.format('%d', slot),
               'PX', string.format('%d', slot - now + 1000))
    return SLOT_KEPT, slot
  end
end

local function refused(destination, token, start_by)
  if destination.open_until then
    if now < destination.open_until then
      return CIRCUIT_OPEN, destination.open_until
    end
    if destination.probe ~= '' and now < destination.probe_until then
      return CIRCUIT_OPEN, destination.probe_until
    end
  end
  if destination.most then
    local key = 'punctual:flying:' .. destination.name
    if not destination.flying then
      redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%d', now))
      destination.flying = redis.call('ZCARD', key)
    end
    if destination.flying >= destination.most then
      return NO_PLACE, now + ASK_AGAIN
    end
  end
  if destination.rate then
    return slot_refused(destination, token, start_by)
  end
end

-- Notes a start; answers PROBE, PLACED or GO. The places of a worker that dies expire when their
-- time to run is over.
local function started(destination, token, runtime)
  local over = string.format('%d', now + runtime + MARGIN)
  if destination.most then
    local taken = destination.taken
    taken[#taken + 1], taken[#taken + 2] = over, token
    destination.longest = math.max(destination.longest, runtime)
    destination.flying = destination.flying + 1
  end
  if destination.open_until then
    destination.probe, destination.probe_until = token, tonumber(over)
    redis.call('SET', 'punctual:circuit:' .. destination.name,
               string.format('%d|%s|%s', destination.open_until, token, over),
               'PX', string.format('%d', runtime + MARGIN + 3600000))
    note(destination, tonumber(over))
    return PROBE
  end
  return destination.most and PLACED or GO
end

-- Writes the places and slots that a tick has taken of a destination, all at once.
local function keep(destination)
  local key, taken = 'punctual:flying:' .. destination.name, destination.taken
  for first = 1, #taken, 2000 do
    redis.call('ZADD', key, unpack(taken, first, math.min(first + 1999, #taken)))
  end
  if #taken > 0 then
    local over = string.format('%d', destination.longest + MARGIN)
    redis.call('PEXPIRE', key, over, 'GT')
    redis.call('PEXPIRE', key, over, 'NX')
  end
  if destination.free then
    redis.call('SET', 'punctual:rate:' .. destination.name, string.format('%.3f', destination.free),
               'PX', string.format('%d', destination.free - now + 1000))
  end
end

local function judge(i, destination)
  local token, start_by = ARGV[i], tonumber(ARGV[i + 1])
  local key = 'punctual:guard:' .. token
  local mark = 's:' .. ARGV[2] .. '#' .. ARGV[i + 2]
  if not same then
    return STALE
  elseif now > start_by then
    return LATE
  elseif not destination then
    if redis.call('SET', key, mark, 'NX', 'EX', MARKED) or redis.call('GET', key) == mark then
      return GO
    end
    return VOID
  end
  local found = redis.call('GET', key)
  if found then
    return found ~= mark and VOID or destination.probe == token and PROBE
      or destination.most and PLACED or GO
  end
  local refusal, moment = refused(destination, token, start_by)
  if refusal then
    note(destination, moment)
    return { refusal, moment }
  end
  redis.call('SET', key, mark, 'EX', MARKED)
  return started(destination, token, tonumber(ARGV[i + 4]))
end

for i = 3 + places, #ARGV, places > 0 and 5 or 3 do
  local answer = judge(i, places > 0 and special[tonumber(ARGV[i + 3])])
  if answer == VOID or answer == STALE or answer == LATE then
    refusals = refusals + 1
  end
  answers[#answers + 1] = answer
end
for _, destination in pairs(special) do
  keep(destination)
end
redis.call('ZADD', 'punctual:workers', 'XX', 'GT', clock[1] + clock[2] / 1000000, ARGV[2])
if refusals > 0 then
  redis.call('HINCRBY', 'punctual:refused', 'starts', refusals)
end
return answers
