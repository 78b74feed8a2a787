-- Part of start.lua: the destinations and tenants of a tick that are checked further. Uses now, changed
-- and places.
local HOT = 10000

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
