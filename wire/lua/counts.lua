-- Adds a batch of a process to the counts of all processes, once: a process that got no answer sends
-- its batch again.
-- KEYS[1] hash of counts, KEYS[2] the last batch of the process. ARGV: id of the batch, seconds to
-- keep both, then names and numbers by turns.
if redis.call('GET', KEYS[2]) == ARGV[1] then
  return 0
end
for place = 3, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[place], ARGV[place + 1])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[2])
return 1
