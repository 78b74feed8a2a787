-- Records a worker's heartbeat by Redis' own clock.
-- KEYS[1] sorted set of workers, KEYS[2] hash of their descriptions. ARGV: worker, description.
-- include: note_beat
return 1
