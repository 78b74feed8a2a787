-- Notes the places of work that is under way, where Redis does not know them.
-- KEYS[1] places of a tenant or destination. ARGV: token and milliseconds to its end, in pairs.
local MARGIN = 5000
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local longest = 0
for i = 1, #ARGV, 2 do
  local left = tonumber(ARGV[i + 1])
  longest = math.max(longest, left)
  redis.call('ZADD', KEYS[1], 'NX', string.format('%d', now + left), ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], string.format('%d', longest + MARGIN), 'GT')
redis.call('PEXPIRE', KEYS[1], string.format('%d', longest + MARGIN), 'NX')
return #ARGV / 2
