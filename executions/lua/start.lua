-- Decides for a tick's worth of executions, atomically, which may start.
-- KEYS[1] incarnation. ARGV: incarnation of the message, worker, then token, start-by (ms) and
-- nonce of each. The nonce tells a question that is asked again, because its answer was lost, from
-- a second copy of the message.
-- Answers one number each: 1 go, 0 void or started already, -1 other incarnation, -2 too late.
local answers = {}
local same = redis.call('GET', KEYS[1]) == ARGV[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for i = 3, #ARGV, 3 do
  local answer
  local key = 'punctual:guard:' .. ARGV[i]
  local mark = 's:' .. ARGV[2] .. '#' .. ARGV[i + 2]
  if not same then
    answer = -1
  elseif now > tonumber(ARGV[i + 1]) then
    answer = -2
  elseif redis.call('SET', key, mark, 'NX', 'EX', 86400) or redis.call('GET', key) == mark then
    answer = 1
  else
    answer = 0
  end
  answers[#answers + 1] = answer
end
return answers
