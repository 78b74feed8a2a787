-- Changes what operators wish of workers: of all that are named, or of none. Returns '' when done,
-- else the first worker that is gone or whose wish has another version than the caller has read.
-- KEYS[1] hash of wishes, KEYS[2] sorted set of workers. ARGV: wish, then worker and version of each.
local clock = redis.call('TIME')
for at = 2, #ARGV, 2 do
    local stored = redis.call('HGET', KEYS[1], ARGV[at])
    local version = stored and cjson.decode(stored).version or 0
    if version ~= tonumber(ARGV[at + 1]) or not redis.call('ZSCORE', KEYS[2], ARGV[at]) then
        return ARGV[at]
    end
end
for at = 2, #ARGV, 2 do
    local wish = {
        word = ARGV[1],
        version = tonumber(ARGV[at + 1]) + 1,
        asked_at = clock[1] + clock[2] / 1000000,
    }
    redis.call('HSET', KEYS[1], ARGV[at], cjson.encode(wish))
end
return ''
