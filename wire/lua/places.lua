-- Part of start.lua: places of destinations with limits, taken as work starts.
local MARGIN = 5000

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
