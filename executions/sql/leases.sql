-- name: beat_node
-- Records this scheduler's heartbeat by the database's clock, and renews its lease, which covers
-- all partitions that it owns; returns whether the lease is valid. An expired lease is not renewed:
-- other schedulers may have acquired its partitions. (One row, not one for each partition: beside a
-- transaction that stays open, a row written every two seconds has many versions to step over.)
INSERT INTO scheduler_nodes (id, name, pid, started_at, heartbeat_at, reaches_redis, lease_expires_at)
VALUES (%(node)s, %(name)s, %(pid)s, now(), now(), %(reaches_redis)s, now())
ON CONFLICT (id) DO UPDATE
SET heartbeat_at = now(), reaches_redis = excluded.reaches_redis,
    lease_expires_at = CASE WHEN scheduler_nodes.lease_expires_at > now()
                       THEN now() + %(ttl)s * interval '1 second'
                       ELSE scheduler_nodes.lease_expires_at END
RETURNING lease_expires_at > now()

-- name: live_nodes
-- Returns schedulers whose heartbeat is fresher than a lease; the share of each is computed from
-- them. Schedulers that do not reach Redis count only where none does.
WITH live AS (
    SELECT id, reaches_redis FROM scheduler_nodes
    WHERE heartbeat_at > now() - %(ttl)s * interval '1 second'
)
SELECT id FROM live
WHERE reaches_redis OR NOT EXISTS (SELECT 1 FROM live WHERE reaches_redis)
ORDER BY id

-- name: drop_dead_nodes
-- Removes schedulers that were silent for an hour and own no partition any more: until another
-- scheduler acquires a partition, the end of their lease shows when its outage began.
DELETE FROM scheduler_nodes n
WHERE n.heartbeat_at < now() - interval '1 hour'
  AND NOT EXISTS (SELECT FROM partition_leases l WHERE l.owner = n.id)

-- name: drop_node
-- Removes this scheduler at a warm stop, when it has released all partitions, so that the others
-- take their new share at once.
DELETE FROM scheduler_nodes WHERE id = %(node)s

-- name: lost_since
-- Returns the first of these schedulers' last heartbeats, less ``before`` seconds, and the time now;
-- NULL where all of them have left in good order. Primary key.
SELECT min(n.heartbeat_at) - %(before)s * interval '1 second', now() FROM scheduler_nodes n
WHERE n.id = ANY(%(nodes)s)

-- name: owned
-- Returns the partitions that this node owns, including ones acquired by a call whose answer was
-- lost.
SELECT l.partition, l.epoch FROM partition_leases l
WHERE l.owner = %(node)s AND coalesce(l.expires_at > now(), true)

-- name: unjudged
-- Returns the partitions that this node owns and whose prepared work has not been judged, with the
-- first and the last moment of the stretches that wait for it. Index unowned_unjudged_idx.
SELECT u.partition, min(u.since), max(u.until) FROM unowned_stretches u
JOIN partition_leases l ON l.partition = u.partition
WHERE NOT u.judged AND l.owner = %(node)s
GROUP BY u.partition

-- name: release
-- Releases partitions under their epoch; the schedulers that should own them may take them at once.
-- The end of the lease is when they lost their owner.
UPDATE partition_leases l
SET owner = NULL, expires_at = now()
WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]

-- name: release_all
-- Releases all partitions of this node, at a warm stop.
UPDATE partition_leases l SET owner = NULL, expires_at = now() WHERE l.owner = %(node)s

-- name: hand_over
-- Lets partitions expire at once under their epoch, and keeps the owner's name: the next owner sees
-- that claimed work in them may not have been sent.
UPDATE partition_leases l
SET expires_at = now()
WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]

-- name: acquire
-- Takes unowned or expired partitions, also its own ones that it does not know of, and raises their
-- epoch, which fences the former owner; returns also whether another scheduler owned them until its
-- lease ran out. A partition is another scheduler's as long as that scheduler's lease lasts, unless
-- it was handed over. Begins this scheduler's lease where that had ended. Notes the time in which
-- the partitions had no scheduler, where that was an outage, and the names of both owners: a former
-- owner that did not release may have died right after it renewed. Skips rows that another scheduler
-- is taking in this very moment.
WITH free AS (
    SELECT l.partition, l.owner, CASE WHEN l.owner IS NULL THEN l.expires_at
        ELSE coalesce(least(l.expires_at, (
            SELECT n.lease_expires_at FROM scheduler_nodes n WHERE n.id = l.owner
        )), '1970-01-01T00:00:00Z') END AS ended_at
    FROM partition_leases l
    -- A row that another session has taken since this statement began belongs to that session,
    -- whose lease may not be visible yet: the locked row is the newest version, ``seen`` the first
    -- one.
    JOIN partition_leases seen ON seen.partition = l.partition AND seen.epoch = l.epoch
    WHERE l.partition = ANY(%(partitions)s)
      AND (l.owner IS NULL OR l.owner = %(node)s OR coalesce(least(l.expires_at, (
          SELECT n.lease_expires_at FROM scheduler_nodes n WHERE n.id = l.owner
      )), '1970-01-01T00:00:00Z') <= now())
    ORDER BY l.partition FOR NO KEY UPDATE OF l SKIP LOCKED
), begun AS (
    UPDATE scheduler_nodes n SET lease_expires_at = now() + %(ttl)s * interval '1 second'
    WHERE n.id = %(node)s AND n.lease_expires_at <= now()
), taken AS (
    UPDATE partition_leases l
    SET owner = %(node)s, epoch = l.epoch + 1, expires_at = NULL
    FROM free
    WHERE l.partition = free.partition
    RETURNING l.partition, l.epoch, now() AS at,
              free.owner AS lost, coalesce(free.owner <> %(node)s, false) AS inherited,
              CASE WHEN free.owner IS NULL THEN free.ended_at
                   ELSE free.ended_at - %(ttl)s * interval '1 second' END AS unowned_since
), noted AS (
    INSERT INTO unowned_stretches (partition, since, until, lost_by, taken_by)
    SELECT partition, unowned_since, at,
           coalesce((SELECT n.name FROM scheduler_nodes n WHERE n.id = lost), ''), %(name)s
    FROM taken
    WHERE unowned_since < at - %(outage)s * interval '1 second'
)
SELECT partition, epoch, at, inherited FROM taken

-- name: unowned
-- Returns the last stretch of partitions without a scheduler, and since when their prepared work
-- has not been judged: also in stretches that an earlier scheduler left unjudged. Index
-- unowned_stretches_idx.
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

-- name: judge_again
-- Notes that these stretches are not judged any more: work that came due in them has returned. No
-- scheduler claims of such a partition until it has been judged. The last stretch of each.
UPDATE unowned_stretches u SET judged = false
FROM unnest(%(partitions)s::smallint[], %(until)s::timestamptz[]) AS j (partition, until)
WHERE u.partition = j.partition AND u.until = j.until AND u.judged

-- name: next_expiry
-- Returns the seconds until the first lease of another owner runs out, so that a dead scheduler's
-- partitions move at that moment and not at the next heartbeat.
SELECT extract(epoch FROM min(coalesce(least(l.expires_at, n.lease_expires_at), now()))
               - clock_timestamp())::float8
FROM partition_leases l LEFT JOIN scheduler_nodes n ON n.id = l.owner
WHERE l.partition = ANY(%(partitions)s) AND l.owner <> %(node)s

-- name: has_live_scheduler
-- Counts the partitions that a scheduler with a valid lease owns, and all partitions.
SELECT count(*) FILTER (
    WHERE l.owner IS NOT NULL AND least(l.expires_at, n.lease_expires_at) > now()), count(*)
FROM partition_leases l LEFT JOIN scheduler_nodes n ON n.id = l.owner

-- name: database_time
-- Returns the clock that decides.
SELECT clock_timestamp()

-- name: listen
-- Subscribes this session to the wake-ups of schedulers.
LISTEN punctual_wake

-- name: wake
-- Wakes the schedulers, which may wait ``within`` seconds for more; the sender coalesces wake-ups.
SELECT pg_notify('punctual_wake', %(within)s::text)
