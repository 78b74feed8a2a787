-- name: beat_node
-- Records this scheduler's heartbeat by the database's clock.
INSERT INTO scheduler_nodes (id, name, pid, started_at, heartbeat_at, reaches_redis)
VALUES (%(node)s, %(name)s, %(pid)s, now(), now(), %(reaches_redis)s)
ON CONFLICT (id) DO UPDATE SET heartbeat_at = now(), reaches_redis = excluded.reaches_redis

-- name: live_nodes
-- Schedulers whose heartbeat is fresher than a lease; the share of each is computed from them.
-- Those that do not reach Redis count only where none does.
WITH live AS (
    SELECT id, reaches_redis FROM scheduler_nodes
    WHERE heartbeat_at > now() - %(ttl)s * interval '1 second'
)
SELECT id FROM live
WHERE reaches_redis OR NOT EXISTS (SELECT 1 FROM live WHERE reaches_redis)
ORDER BY id

-- name: drop_dead_nodes
-- Forgets schedulers that were silent for an hour.
DELETE FROM scheduler_nodes WHERE heartbeat_at < now() - interval '1 hour'

-- name: drop_node
-- Forgets this scheduler at a warm stop, so that the others take their new share at once.
DELETE FROM scheduler_nodes WHERE id = %(node)s

-- name: renew
-- Prolongs what this node still owns under the epoch it knows, given by the place of its partition;
-- a lease that was taken over in the meantime is not renewed and is missing from the answer. (Read
-- as a whole, as everywhere: a row that is written every two seconds has many versions beside a
-- transaction that stays open, and is dear to look for.)
UPDATE partition_leases l
SET expires_at = now() + %(ttl)s * interval '1 second'
WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]
  AND l.expires_at > now()
RETURNING l.partition, l.epoch

-- name: release
-- Gives partitions up under the epoch held; whoever should own them may take them at once. The
-- end of the lease says from when on nobody owned them.
UPDATE partition_leases l
SET owner = NULL, expires_at = now()
WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]

-- name: hand_over
-- Lets partitions expire at once under the epoch held, with the owner's name: whoever takes them
-- sees that work in them may be with nobody.
UPDATE partition_leases l
SET expires_at = now()
WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]

-- name: acquire
-- Takes unowned or expired partitions, also those of its own that it does not know of, and raises
-- their epoch, which fences the former owner; answers also whether they were another's until
-- their lease ran out. Notes the time in which they had no scheduler, where that was an outage: a
-- former owner that did not release may have died right after it renewed. Skips rows that another
-- scheduler is taking in this very moment.
WITH free AS (
    SELECT partition, owner, expires_at FROM partition_leases
    WHERE partition = ANY(%(partitions)s)
      AND (owner IS NULL OR owner = %(node)s OR expires_at <= now())
    ORDER BY partition FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE partition_leases l
    SET owner = %(node)s, epoch = l.epoch + 1, expires_at = now() + %(ttl)s * interval '1 second'
    FROM free
    WHERE l.partition = free.partition
    RETURNING l.partition, l.epoch, now() AS at,
              coalesce(free.owner <> %(node)s, false) AS inherited,
              CASE WHEN free.owner IS NULL THEN free.expires_at
                   ELSE free.expires_at - %(ttl)s * interval '1 second' END AS unowned_since
), noted AS (
    INSERT INTO unowned_stretches (partition, since, until)
    SELECT partition, unowned_since, at FROM taken
    WHERE unowned_since < at - %(outage)s * interval '1 second'
)
SELECT partition, epoch, at, inherited FROM taken

-- name: unowned
-- Of partitions the last stretch without a scheduler, and since when their prepared work has not
-- been judged: also what a scheduler found that did not get so far. Index unowned_stretches_idx.
SELECT DISTINCT ON (u.partition) u.partition, u.since, u.until,
       (SELECT min(n.since) FROM unowned_stretches n
        WHERE n.partition = u.partition AND NOT n.judged)
FROM unowned_stretches u
WHERE u.partition = ANY(%(partitions)s)
ORDER BY u.partition, u.until DESC

-- name: note_judged
-- Notes that the prepared work of these partitions has been judged, in the stretches that this
-- scheduler knows of. Index unowned_unjudged_idx.
UPDATE unowned_stretches u SET judged = true
FROM unnest(%(partitions)s::smallint[], %(until)s::timestamptz[]) AS j (partition, until)
WHERE u.partition = j.partition AND NOT u.judged AND u.until <= j.until

-- name: next_expiry
-- Seconds until the first lease of another owner runs out, so that a dead scheduler's partitions
-- move at that moment and not at the next heartbeat.
SELECT extract(epoch FROM min(expires_at) - clock_timestamp())::float8
FROM partition_leases
WHERE partition = ANY(%(partitions)s) AND owner <> %(node)s

-- name: has_live_scheduler
-- Whether any partition is owned by a scheduler that still renews.
SELECT count(*) FILTER (WHERE expires_at > now()), count(*) FROM partition_leases

-- name: database_time
-- The clock that decides.
SELECT clock_timestamp()

-- name: listen
-- Subscribes this session to the wake-ups of schedulers.
LISTEN punctual_wake

-- name: wake
-- Wakes the schedulers, which may wait so many seconds for more; coalesced by the sender.
SELECT pg_notify('punctual_wake', %(within)s::text)
