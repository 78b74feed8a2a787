-- Records a heartbeat: KEYS[1] sorted set of workers, KEYS[2] hash of their descriptions.
local clock = redis.call('TIME')
redis.call('ZADD', KEYS[1], clock[1] + clock[2] / 1000000, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
