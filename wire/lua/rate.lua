-- Spends one call of a rate, by the generic cell rate algorithm: as if each call filled the same
-- share of a leaking bucket.
-- KEYS: the rate's own key. ARGV: calls a second, calls that may come at once.
-- Returns whether the call may be made, how many could follow at once, the milliseconds until the
-- next may be made where it may not, and those until all could.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local each = 1000 / tonumber(ARGV[1])
local most = tonumber(ARGV[2]) * each
local full = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0'))
if full - now > most then
  -- No call is counted so far ahead: the clock was set back.
  full = now
end
local after = full + each
if after - now > most then
  return {0, 0, math.ceil(after - now - most), math.ceil(full - now)}
end
redis.call('SET', KEYS[1], string.format('%.3f', after), 'PX', math.ceil(after - now))
return {1, math.floor((most - (after - now)) / each + 0.000001), 0, math.ceil(after - now)}
