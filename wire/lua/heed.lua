-- Records a worker's heartbeat, and returns what operators wish of it; nil where they wish nothing.
-- A wish that the server has lost, by a flush or a restart from an older file, is put back from the
-- worker, which knows a newer version of it.
-- KEYS[1] sorted set of workers, KEYS[2] hash of their descriptions, KEYS[3] hash of wishes.
-- ARGV: worker, description, the wish that the worker knows or ''.
-- include: note_beat
local stored = redis.call('HGET', KEYS[3], ARGV[1])
if ARGV[3] ~= '' then
    local version = stored and cjson.decode(stored).version or 0
    if cjson.decode(ARGV[3]).version > version then
        redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
        stored = ARGV[3]
    end
end
return stored
