-- Marks tokens as started by workers that lease over the API, so that void.lua, which takes work
-- back, returns the worker of each token that has begun.
-- KEYS[1] incarnation. ARGV: incarnation of the lease, worker, seconds that the marks are kept,
-- then tokens. Answers 1, or 0 when the incarnation is another one: then nothing is marked.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
for i = 4, #ARGV do
  redis.call('SET', 'punctual:guard:' .. ARGV[i], 's:' .. ARGV[2] .. '#lease', 'EX', ARGV[3])
end
return 1
