-- Spends a tenant's rate of creations, by the generic cell rate algorithm of rate.lua. A call that
-- makes more than may come at once passes where nothing is owed, and counts in full.
-- KEYS: the rate's own key. ARGV: tasks to create (0 only asks), tasks a second, tasks that may come
-- at once, the most tasks of one call.
-- Returns whether the call may be made, the milliseconds until it may, and those until all is paid.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local each = 1000 / tonumber(ARGV[2])
local most = tonumber(ARGV[3]) * each
local cost = tonumber(ARGV[1]) * each
local full = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0'))
if full - now > most + tonumber(ARGV[4]) * each then
  -- No call owes so much: the clock was set back, or the rate was raised.
  full = now
end
local over = full - now + math.min(cost, most) - most
if cost > 0 and over > 0 then
  return {0, math.ceil(over), math.ceil(full - now)}
end
if cost > 0 then
  full = full + cost
  redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil(full - now))
end
return {1, 0, math.ceil(full - now)}
