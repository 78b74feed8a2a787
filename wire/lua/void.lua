-- Takes tokens back: from here on none of them can start.
-- ARGV: tokens. Answers one string per token: '' voided, else the worker that has started it.
local answers = {}
for i = 1, #ARGV do
  local key = 'punctual:guard:' .. ARGV[i]
  local mark = redis.call('GET', key)
  if mark and string.sub(mark, 1, 2) == 's:' then
    answers[i] = string.match(mark, '^s:([^#]*)')
  else
    redis.call('SET', key, 'v', 'EX', 3600)
    answers[i] = ''
  end
end
return answers
