-- Part of start.lua: the destinations of a tick that are checked further, and why their work waits.
-- Uses now, changed and places, and the answers that start.lua names.
-- How far ahead a slot is kept, and how long it stays good after its moment: at most 125 % of the
-- rate starts within any second. In milliseconds, as everything here.
local KEEP_AHEAD, SLOT_GOOD = 2000, 250
-- Slots within this hundredth of a second are taken at once: with a high rate nearly all work of a
-- tick would have to ask twice.
local TOGETHER = 10
local ASK_AGAIN, HOT = 250, 10000

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

-- Answers why the destination takes no start now, and the moment to ask again; nothing when it does.
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
