-- Counts an attempt that a pull worker ended, in the minute of Redis' own clock, and notes that the
-- worker lives. A worker that Redis does not know stays unknown until it asks for work again.
-- KEYS[1] sorted set of workers, KEYS[2] prefix of the counts. ARGV: worker, seconds to keep them.
local clock = redis.call('TIME')
local key = KEYS[2] .. math.floor(clock[1] / 60)
redis.call('HINCRBY', key, ARGV[1], 1)
redis.call('EXPIRE', key, ARGV[2])
return redis.call('ZADD', KEYS[1], 'XX', clock[1] + clock[2] / 1000000, ARGV[1])
