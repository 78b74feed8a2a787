-- Notes by Redis' own clock that a worker which has beaten before lives.
-- KEYS[1] sorted set of workers. ARGV: worker.
local clock = redis.call('TIME')
return redis.call('ZADD', KEYS[1], 'XX', clock[1] + clock[2] / 1000000, ARGV[1])
