-- name: waiting
-- Returns the first due time of each priority's work that is due within the window in the owned
-- partitions, for workers of these pools, from the priority's lower bound on; the end of the window
-- and the time now; and whether any work is parked. Asked before a claim, which takes some
-- milliseconds to plan even when it finds no work. Indexes open_executions_due_idx and
-- open_executions_parked_idx. Keep their ORDER BY: for a bare EXISTS the planner may scan the
-- table.
SELECT ARRAY(
    SELECT (
        SELECT e.due_at FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.priority = p AND e.due_at >= (%(since)s::timestamptz[])[p + 1]
          AND e.due_at < %(before)s AND e.due_at <= now() + %(window)s * interval '1 second'
          AND e.pool = ANY(%(pools)s) AND e.partition = ANY(%(partitions)s)
        ORDER BY e.due_at LIMIT 1
    )
    FROM unnest(ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[]) AS p
), now() + %(window)s * interval '1 second', now(), (
    SELECT e.priority FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND e.parked
    ORDER BY e.tenant_id, e.destination LIMIT 1
) IS NOT NULL

-- name: limit_time
-- Cancels each following statement of this transaction that takes longer.
SELECT set_config('statement_timeout', %(milliseconds)s::text, true)

-- name: limit_time_no_more
-- Ends that limit, where the transaction continues.
SET LOCAL statement_timeout TO DEFAULT

-- part: owned
-- One row: of each partition, by its number, whether it is owned, which is checked at no cost of
-- planning for each; and each priority's lower bound.
owned AS MATERIALIZED (
    SELECT ARRAY(
        SELECT n = ANY(%(partitions)s) FROM generate_series(0, 255) AS n ORDER BY n
    ) AS partitions, %(since)s::timestamptz[] AS since
)

-- part: rooms
-- The destinations whose capacity is given, with the reason for which work beyond it waits.
rooms AS (
    SELECT * FROM unnest(
        %(tenants)s::uuid[], %(hosts)s::text[], %(rooms)s::integer[], %(why)s::text[],
        %(old_rooms)s::integer[], %(eldests)s::smallint[]
    ) AS r (tenant_id, host, room, why, old_room, eldest)
)

-- part: due
-- Locked work of the band that is due within the window: what is due goes by priority, then by due
-- time, but ``oldest`` places go to the oldest work, which has the priority ``eldest``. Then comes
-- work that is due soon, in ever longer stretches, so that urgent work of a later moment takes no
-- place of work due before it. Skips rows that are being changed in this moment. VALUES and arrays
-- are visited in their order, and only up to the limit. Index open_executions_due_idx.
due AS MATERIALIZED (
    SELECT v.old, d.* FROM (VALUES
        (true, %(eldest)s::smallint[], -1, 0.0, %(oldest)s),
        (false, %(priorities)s, -1, 0.0, %(limit)s),
        (false, %(priorities)s, 0.0, 0.125, %(limit)s),
        (false, %(priorities)s, 0.125, 0.25, %(limit)s),
        (false, %(priorities)s, 0.25, 0.5, %(limit)s),
        (false, %(priorities)s, 0.5, 1.0, %(limit)s)
    ) AS v (old, priorities, after, until, most)
    CROSS JOIN LATERAL (
        SELECT f.* FROM unnest(v.priorities::smallint[]) AS p CROSS JOIN LATERAL (
            SELECT e.id, e.tenant_id, e.destination, e.priority, e.due_at FROM open_executions e
            WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
              AND e.priority = p AND e.due_at >= (SELECT since FROM owned)[p + 1]
              AND e.due_at > CASE WHEN v.after < 0 THEN '-infinity'
                                  ELSE now() + v.after * %(window)s * interval '1 second' END
              AND e.due_at <= now() + v.until * %(window)s * interval '1 second'
              AND e.pool = %(pool)s AND (SELECT partitions FROM owned)[e.partition + 1]
            ORDER BY e.due_at
            LIMIT v.most
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS f
        LIMIT v.most
    ) AS d
    LIMIT %(limit)s + %(oldest)s
)

-- part: due_within
-- The same without tenants that have reached a limit, and of others with limits as much as may be
-- under way: by their name, or by their tier where no limit of executions is their own.
due AS MATERIALIZED (
    SELECT n.old, n.id, n.tenant_id, n.destination, n.priority, n.due_at FROM (
        SELECT a.*, row_number() OVER (
            PARTITION BY a.tenant_id ORDER BY a.old DESC, a.priority, a.due_at) AS number
        FROM (
            SELECT v.old, d.* FROM (VALUES
                (true, %(eldest)s::smallint[], 0.0, %(oldest)s),
                (false, %(priorities)s, 0.0, %(limit)s),
                (false, %(priorities)s, 1.0, %(limit)s)
            ) AS v (old, priorities, until, most)
            CROSS JOIN LATERAL (
                SELECT f.* FROM unnest(v.priorities::smallint[]) AS p CROSS JOIN LATERAL (
                    SELECT e.id, e.tenant_id, e.destination, e.priority, e.due_at
                    FROM open_executions e
                    WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
                      AND e.priority = p AND e.due_at >= (SELECT since FROM owned)[p + 1]
                      AND (v.until = 0 OR e.due_at > now())
                      AND e.due_at <= now() + v.until * %(window)s * interval '1 second'
                      AND e.pool = %(pool)s AND (SELECT partitions FROM owned)[e.partition + 1]
                      AND e.tenant_id <> ALL(%(left_out)s::uuid[])
                    ORDER BY e.due_at
                    LIMIT v.most
                    FOR NO KEY UPDATE SKIP LOCKED
                ) AS f
                LIMIT v.most
            ) AS d
            LIMIT %(limit)s + %(oldest)s
        ) AS a
    ) AS n
    JOIN tenants t ON t.id = n.tenant_id
    LEFT JOIN unnest(%(limited)s::uuid[], %(places)s::integer[]) AS l (tenant_id, places)
        ON l.tenant_id = n.tenant_id
    LEFT JOIN unnest(%(tiers)s::text[], %(of_tiers)s::integer[]) AS r (tier, places)
        ON r.tier = t.tier AND NOT t.unlimited
            AND NOT t.quotas ?| ARRAY['executions_in_flight', 'executions_per_second']
    WHERE n.number <= coalesce(l.places, r.places, n.number)
)

-- part: parked
-- Locked parked work of destinations that have capacity again, in the order of ``due`` and with
-- ``old_rooms`` for their oldest. Index open_executions_parked_idx.
waiting AS MATERIALIZED (
    SELECT v.old, w.* FROM rooms r CROSS JOIN LATERAL (VALUES
        (true, ARRAY[r.eldest], r.old_room), (false, %(priorities)s::smallint[], r.room)
    ) AS v (old, priorities, most)
    CROSS JOIN LATERAL (
        SELECT f.* FROM unnest(v.priorities) AS p CROSS JOIN LATERAL (
            SELECT e.id, e.tenant_id, e.destination, e.priority, e.due_at FROM open_executions e
            WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND e.parked
              AND e.tenant_id = r.tenant_id AND e.destination = r.host AND e.priority = p
              AND e.pool = %(pool)s AND (SELECT partitions FROM owned)[e.partition + 1]
            ORDER BY e.due_at
            LIMIT least(v.most, %(limit)s)
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS f
        LIMIT least(v.most, %(limit)s)
    ) AS w
    WHERE r.room > 0
)

-- part: judged
-- Which of the locked work fits into its destination's capacity, given in ``rooms`` or by its
-- limits, parked or not; and why the others do not. A turn of 10 and more is work due soon.
placed AS (
    SELECT c.*, row_number() OVER (
        PARTITION BY c.tenant_id, c.destination ORDER BY c.old DESC, c.turn, c.due_at, c.id
    ) AS place
    FROM (
        SELECT w.old, w.id, w.tenant_id, w.destination, w.due_at, true AS parked,
               w.priority + CASE WHEN w.due_at > now() THEN 10 ELSE 0 END AS turn
        FROM waiting w WHERE w.old OR w.id NOT IN (SELECT id FROM waiting WHERE old)
        UNION ALL
        SELECT false, d.id, d.tenant_id, d.destination, d.due_at, false,
               d.priority + CASE WHEN d.due_at > now() THEN 10 ELSE 0 END
        FROM due d WHERE d.old OR d.id NOT IN (SELECT id FROM due WHERE old)
    ) AS c
), judged AS (
    SELECT p.id, p.tenant_id, p.turn, p.due_at, p.parked,
           p.destination = '' OR p.place <= coalesce(
               r.room, least(2 * d.max_in_flight + 5, ceil(2 * d.rate_per_second) + 1), 2147483647
           ) AS fits,
           coalesce(r.why, CASE WHEN d.max_in_flight IS NULL THEN 'destination_rate'
                                ELSE 'destination_in_flight' END) AS why
    FROM placed p
    LEFT JOIN rooms r ON r.tenant_id = p.tenant_id AND r.host = p.destination
    LEFT JOIN destinations d ON d.tenant_id = p.tenant_id AND d.host = p.destination
)

-- part: chosen
-- What the batch takes of it, the oldest first.
chosen AS (
    SELECT id FROM judged WHERE fits
    ORDER BY id IN (
        SELECT j.id FROM judged j WHERE j.fits AND j.turn < 10
        ORDER BY j.due_at, j.turn LIMIT %(oldest)s
    ) DESC, turn, due_at
    LIMIT %(limit)s
)

-- part: chosen_within
-- The same, and of tenants with limits as much as may be under way, whether it was parked or not.
within AS (
    SELECT j.id, j.turn, j.due_at, l.places, row_number() OVER (
        PARTITION BY j.tenant_id ORDER BY j.turn, j.due_at, j.id) AS number
    FROM judged j
    LEFT JOIN unnest(%(limited)s::uuid[], %(places)s::integer[]) AS l (tenant_id, places)
        ON l.tenant_id = j.tenant_id
    WHERE j.fits AND j.tenant_id <> ALL(%(left_out)s::uuid[])
), chosen AS (
    SELECT w.id FROM within w WHERE w.places IS NULL OR w.number <= w.places
    ORDER BY w.id IN (
        SELECT o.id FROM within o WHERE o.turn < 10 AND (o.places IS NULL OR o.number <= o.places)
        ORDER BY o.due_at, o.turn LIMIT %(oldest)s
    ) DESC, w.turn, w.due_at
    LIMIT %(limit)s
)

-- part: moved
-- The chosen work, QUEUED under a new fencing token and a lease, with its event. Rows are updated by
-- an array of their ids: for a table that was empty the planner expects a handful of rows, and would
-- compare every pair of rows.
moved AS (
    UPDATE open_executions e
    SET status = 'QUEUED', fencing_token = nextval('execution_token_seq'), queued_at = now(),
        incarnation = %(incarnation)s, parked = false,
        reason = CASE WHEN e.reason IN ('circuit_open', 'destination_rate',
                                        'destination_in_flight', 'tenant_limit')
                      THEN '' ELSE e.reason END,
        lease_expires_at = greatest(now(), e.due_at) + %(margin)s * interval '1 second'
    WHERE e.id = ANY(ARRAY(SELECT id FROM chosen))
    RETURNING e.id, e.tenant_id, e.task_id, e.revision, e.scheduled_for, e.due_at, e.attempt,
              e.max_attempts, e.fencing_token, e.lease_expires_at, e.priority, e.sealed_payload,
              e.destination, e.lost_count, e.sealed_progress, e.trace_context
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.queued', array_agg(id), array_agg(task_id)
    FROM moved GROUP BY tenant_id
)

-- part: described
-- Moved work with all that its message holds.
described AS (
    SELECT m.id, m.tenant_id, m.task_id, m.revision, m.scheduled_for, m.due_at, m.attempt,
           m.max_attempts, m.fencing_token, m.lease_expires_at, m.priority, m.sealed_payload,
           -- Without URL and origin: the rest is the same for many rows.
           r.target - '{url,origin}'::text[] AS target, r.definition -> 'retry_policy' AS retry_policy, r.sealed,
           m.destination, m.lost_count, m.sealed_progress,
           -- The values that templates may name, only for targets with templates.
           CASE WHEN (r.target ->> 'template')::boolean THEN jsonb_build_object(
               'name', r.definition -> 'name', 'labels', r.definition -> 'labels',
               'last_success_at', (
                   SELECT CASE WHEN t.type = 'RECURRING' THEN (
                       SELECT k.last_success_at FROM task_cursors k WHERE k.task_id = t.id
                       ORDER BY k.next_run_at DESC LIMIT 1) ELSE t.last_success_at END
                   FROM tasks t WHERE t.id = m.task_id)
           ) END AS named,
           d.max_in_flight, d.rate_per_second, d.breaker, m.trace_context, r.target ->> 'url' AS url
    FROM moved m
    -- OFFSET: each is read by the index. In a plain join, a table that was emptied counts as one
    -- row until it is analyzed, and each moved row would be compared with each revision.
    LEFT JOIN LATERAL (
        SELECT v.definition, v.definition -> 'target' AS target, v.sealed FROM task_revisions v
        WHERE v.task_id = m.task_id AND v.version = m.revision OFFSET 0
    ) AS r ON true
    LEFT JOIN destinations d ON d.tenant_id = m.tenant_id AND d.host = m.destination
)

-- part: put_by
-- Due work beyond the capacity of its destination, parked.
put_by AS (
    UPDATE open_executions e
    SET parked = true, reason = CASE WHEN e.reason = '' THEN j.why ELSE e.reason END
    FROM judged j
    WHERE e.id = ANY(ARRAY(SELECT id FROM judged WHERE NOT fits AND NOT parked))
      AND e.id = j.id
    RETURNING e.id
)

-- name: claim_due
-- Moves work of a band's priorities that is due within the window to QUEUED under a new fencing
-- token and a lease. A destination gets at most its capacity. Due work beyond it is parked, so that
-- the next claim does not meet it. Returns a first row without id when nothing moved; the last
-- column counts the parked rows.
WITH -- parts: owned, rooms, due, parked, judged, chosen, moved, described, put_by
SELECT m.*, p.parked FROM (SELECT count(*) AS parked FROM put_by) AS p
LEFT JOIN described m ON true
ORDER BY m.due_at

-- part: ready
-- One row: of each partition, by its number, whether its work may be released by any scheduler: it
-- has an owner whose lease is valid, and no stretch without one whose prepared work still waits for
-- the misfire policy. Read in the claim's own snapshot: a takeover that commits before it is seen.
-- Index unowned_unjudged_idx.
owned AS MATERIALIZED (
    SELECT ARRAY(
        SELECT r.partition IS NOT NULL FROM generate_series(0, 255) AS n LEFT JOIN (
            SELECT l.partition FROM partition_leases l JOIN scheduler_nodes s ON s.id = l.owner
            WHERE coalesce(least(l.expires_at, s.lease_expires_at) > now(), false)
              AND NOT EXISTS (
                  SELECT FROM unowned_stretches u
                  WHERE u.partition = l.partition AND NOT u.judged)
        ) AS r ON r.partition = n
        ORDER BY n
    ) AS partitions
)

-- part: quotas
-- The places of each tenant in this claim; how many of them are for its oldest work, and which
-- priority that has; the first and the last of its entries in ``levels``.
quotas AS MATERIALIZED (
    SELECT * FROM unnest(
        %(of_tenants)s::uuid[], %(places)s::integer[], %(tenths)s::integer[],
        %(oldest_of)s::smallint[], %(begins)s::integer[], %(ends)s::integer[]
    ) AS q (tenant_id, places, tenth, eldest, begins, ends)
)

-- part: due_by_tenant
-- Locked work of the tenants that have places, that is due within the window: by priority, then by
-- due time, after the places of the oldest; then what is due soon. ``levels`` are the priorities
-- that a tenant has waiting work of, with the due time of the first of each, so that a visit reads
-- no entry of another tenant, and none before its work. Index open_executions_flow_idx.
due AS MATERIALIZED (
    SELECT d.* FROM quotas q CROSS JOIN LATERAL (
        SELECT v.old, f.* FROM (VALUES
            (true, q.tenth, '-infinity'::timestamptz, now()),
            (false, q.places, '-infinity'::timestamptz, now()),
            (false, q.places, now(), now() + %(window)s * interval '1 second')
        ) AS v (old, most, after, until)
        CROSS JOIN LATERAL (
            SELECT g.* FROM unnest(
                (%(levels)s::smallint[])[q.begins:q.ends],
                (%(firsts)s::timestamptz[])[q.begins:q.ends]
            ) AS p (priority, first)
            CROSS JOIN LATERAL (
                SELECT e.id, e.tenant_id, e.destination, e.priority, e.due_at
                FROM open_executions e
                WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
                  AND e.pool = %(pool)s AND e.pool NOT LIKE 'pull.%%'
                  AND e.tenant_id = q.tenant_id AND e.priority = p.priority
                  AND e.due_at >= p.first AND e.due_at > v.after AND e.due_at <= v.until
                  AND (SELECT partitions FROM owned)[e.partition + 1]
                ORDER BY e.due_at
                LIMIT v.most
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS g
            WHERE NOT v.old OR p.priority = q.eldest
            LIMIT v.most
        ) AS f
        LIMIT q.places + q.tenth
    ) AS d
)

-- part: chosen_by_tenant
-- What the batch takes of it: of each tenant as much as its places, the oldest first.
aged AS (
    SELECT j.id, j.tenant_id, j.turn, j.due_at, q.places, q.tenth, row_number() OVER (
        PARTITION BY j.tenant_id ORDER BY j.turn >= 10, j.due_at, j.turn, j.id
    ) AS age
    FROM judged j JOIN quotas q ON q.tenant_id = j.tenant_id
    WHERE j.fits
), chosen AS (
    SELECT r.id FROM (
        SELECT a.id, a.places, row_number() OVER (
            PARTITION BY a.tenant_id
            ORDER BY (a.age <= a.tenth AND a.turn < 10) DESC, a.turn, a.due_at, a.id
        ) AS place
        FROM aged a
    ) AS r
    WHERE r.place <= r.places
)

-- name: claim_by_shares
-- Moves work that is due within the window, of the tenants that have places and in any partition
-- that is ready, to QUEUED under a new fencing token and a lease: of each tenant as much as its
-- places. Destinations and the answer are as in claim_due.
WITH -- parts: ready, rooms, quotas, due_by_tenant, parked, judged, chosen_by_tenant, moved, described, put_by
SELECT m.*, p.parked FROM (SELECT count(*) AS parked FROM put_by) AS p
LEFT JOIN described m ON true
ORDER BY m.due_at

-- name: claim_due_within
-- The same while tenants have limits of what is in flight or starts in a second.
WITH -- parts: owned, rooms, due_within, parked, judged, chosen_within, moved, described, put_by
SELECT m.*, p.parked FROM (SELECT count(*) AS parked FROM put_by) AS p
LEFT JOIN described m ON true
ORDER BY m.due_at

-- name: leased_of_tenants
-- Counts what workers have of each of these tenants: all of it, and what has not started. Index
-- open_executions_leased_idx.
SELECT e.tenant_id, count(*), count(*) FILTER (WHERE e.status = 'QUEUED')
FROM open_executions e
WHERE e.status IN ('QUEUED', 'RUNNING') AND e.accepted_at IS NULL
  AND e.lease_expires_at < '9999-01-01T00:00:00Z' AND e.pool NOT LIKE 'pull.%%'
  AND e.tenant_id = ANY(%(tenants)s::uuid[])
GROUP BY e.tenant_id

-- name: leased_by_tenant
-- Counts the same of every tenant of which workers have something. Index open_executions_leased_idx.
SELECT e.tenant_id, count(*), count(*) FILTER (WHERE e.status = 'QUEUED')
FROM open_executions e
WHERE e.status IN ('QUEUED', 'RUNNING') AND e.accepted_at IS NULL
  AND e.lease_expires_at < '9999-01-01T00:00:00Z' AND e.pool NOT LIKE 'pull.%%'
GROUP BY e.tenant_id

-- name: under_way_of_tenants
-- Returns tenant and token of what workers have of these tenants, and the seconds for which the work
-- may be under way: to the end of its lease, a moment where its start is not recorded. Index
-- open_executions_leased_idx.
SELECT e.tenant_id, e.fencing_token, CASE WHEN e.status = 'QUEUED' THEN 5.0
       ELSE greatest(0, extract(epoch FROM e.lease_expires_at - now()))::float8 END
FROM open_executions e
WHERE e.status IN ('QUEUED', 'RUNNING') AND e.accepted_at IS NULL
  AND e.lease_expires_at < '9999-01-01T00:00:00Z' AND e.pool NOT LIKE 'pull.%%'
  AND e.tenant_id = ANY(%(tenants)s::uuid[])

-- part: without_limits
-- Those of the named executions that are due and on no hold, whose destination has neither a limit
-- nor parked work, and whose partition has a scheduler that lives: behind the fence of a restore, and
-- where an operator has stopped the schedulers, nothing starts. Primary keys; index
-- open_executions_parked_idx.
chosen AS MATERIALIZED (
    SELECT e.id FROM open_executions e
    WHERE e.id = ANY(%(ids)s::uuid[]) AND e.status = 'PENDING'
      -- Due times are rounded to a millisecond, also upwards; a worker waits for its own.
      AND e.due_at <= now() + interval '1 second'
      AND NOT e.held AND NOT e.parked
      AND NOT EXISTS (
          SELECT FROM destinations d
          WHERE d.tenant_id = e.tenant_id AND d.host = e.destination
            AND (d.max_in_flight IS NOT NULL OR d.rate_per_second IS NOT NULL))
      AND NOT EXISTS (
          SELECT FROM open_executions w
          WHERE w.status IN ('PENDING', 'RETRYING') AND NOT w.held AND w.parked
            AND w.tenant_id = e.tenant_id AND w.destination = e.destination)
      AND EXISTS (
          SELECT FROM partition_leases l JOIN scheduler_nodes n ON n.id = l.owner
          WHERE l.partition = e.partition AND coalesce(l.expires_at, n.lease_expires_at) > now())
    ORDER BY e.id FOR NO KEY UPDATE SKIP LOCKED
)

-- name: claim_these
-- Moves executions that were made in this transaction to QUEUED under a new fencing token and a
-- lease, where nothing keeps them back.
WITH -- parts: without_limits, moved, described
SELECT m.* FROM described m ORDER BY m.due_at, m.id

-- name: heads
-- Returns the first due time of each priority in the owned partitions, of one pool, from its lower
-- bound on. Asked where a band has several priorities due. Index open_executions_due_idx.
SELECT h.priority, h.due_at FROM unnest(%(priorities)s::smallint[]) AS p CROSS JOIN LATERAL (
    SELECT e.priority, e.due_at FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
      AND e.priority = p AND e.due_at >= (%(since)s::timestamptz[])[p + 1]
      AND e.due_at <= now() AND e.pool = %(pool)s
      AND e.partition = ANY(%(partitions)s)
    ORDER BY e.due_at LIMIT 1
) AS h
ORDER BY h.priority

-- name: parked_heads
-- Returns the priority of the oldest parked work of each destination, among the priorities of a
-- band. Index open_executions_parked_idx.
SELECT DISTINCT ON (r.tenant_id, r.host) r.tenant_id, r.host, h.priority
FROM unnest(%(tenants)s::uuid[], %(hosts)s::text[]) AS r (tenant_id, host)
CROSS JOIN unnest(%(priorities)s::smallint[]) AS p
CROSS JOIN LATERAL (
    SELECT e.priority, e.due_at FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND e.parked
      AND e.tenant_id = r.tenant_id AND e.destination = r.host AND e.priority = p
      AND e.partition = ANY(%(partitions)s)
    ORDER BY e.due_at LIMIT 1
) AS h
ORDER BY r.tenant_id, r.host, h.due_at, h.priority

-- name: next_due
-- Returns the soonest due time of work that waits in the owned partitions for workers of these
-- pools, from each priority's lower bound on, and the time now; parked work waits for its
-- destination. Index open_executions_due_idx.
SELECT min(soonest), clock_timestamp() FROM (
    SELECT (
        SELECT e.due_at FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.priority = p AND e.due_at >= (%(since)s::timestamptz[])[p + 1]
          AND e.partition = ANY(%(partitions)s) AND e.pool = ANY(%(pools)s)
        ORDER BY e.due_at LIMIT 1
    ) AS soonest
    FROM unnest(ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[]) AS p
) AS per_priority

-- name: in_flight
-- Counts executions per pool that workers buffer or run; work that goes on without them takes none
-- of their capacity, and a run of a workflow, whose lease never ends, has none. Index
-- open_executions_leased_idx.
SELECT pool, count(*) FROM open_executions
WHERE status IN ('QUEUED', 'RUNNING') AND accepted_at IS NULL
  AND lease_expires_at < '9999-01-01T00:00:00Z'
GROUP BY pool

-- name: leased
-- Returns the same, with the number of destinations that each pool's work calls and the end of the
-- first lease; leases that end before a lower bound are not read. Then returns each destination
-- that is asked for or has at least ``many``, with its queued work. Then, of the pools ``shared``,
-- each tenant with its leased work, the part of it that was claimed before a moment, and the time
-- now. Index open_executions_leased_idx.
WITH grouped AS MATERIALIZED (
    SELECT pool, tenant_id, destination, count(*) AS leased,
           count(*) FILTER (WHERE status = 'QUEUED') AS queued, min(lease_expires_at) AS first,
           count(*) FILTER (WHERE queued_at < %(before)s) AS kept
    FROM open_executions
    WHERE status IN ('QUEUED', 'RUNNING') AND lease_expires_at >= %(since)s
      AND lease_expires_at < '9999-01-01T00:00:00Z' AND accepted_at IS NULL
    GROUP BY pool, tenant_id, destination
)
SELECT pool, NULL::uuid, '', sum(leased)::bigint, count(*) FILTER (WHERE destination <> ''),
       least(min(first), now())
FROM grouped GROUP BY pool
UNION ALL
SELECT pool, tenant_id, destination, leased, queued, NULL FROM grouped
WHERE destination <> '' AND (leased >= %(many)s OR (tenant_id, destination) IN (
    SELECT * FROM unnest(%(tenants)s::uuid[], %(hosts)s::text[])))
UNION ALL
SELECT pool, tenant_id, NULL, sum(leased)::bigint, sum(kept)::bigint, clock_timestamp()
FROM grouped WHERE pool = ANY(%(shared)s::text[]) GROUP BY pool, tenant_id

-- name: parked_destinations
-- Returns up to ``limit`` destinations with parked work, behind one: jumps from one to the next.
-- Index open_executions_parked_idx.
WITH RECURSIVE found AS (
    (SELECT e.tenant_id, e.destination FROM open_executions e
     WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND e.parked
       AND (e.tenant_id, e.destination) > (%(tenant)s::uuid, %(host)s::text)
     ORDER BY e.tenant_id, e.destination LIMIT 1)
    UNION ALL
    SELECT n.tenant_id, n.destination FROM found f CROSS JOIN LATERAL (
        SELECT e.tenant_id, e.destination FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND e.parked
          AND (e.tenant_id, e.destination) > (f.tenant_id, f.destination)
        ORDER BY e.tenant_id, e.destination LIMIT 1
    ) AS n
)
SELECT tenant_id, destination FROM found LIMIT %(limit)s

-- name: limits
-- Returns the limits of destinations that have any. Index destination_is_one_row.
SELECT d.tenant_id, d.host, d.max_in_flight, d.rate_per_second, d.breaker FROM destinations d
JOIN unnest(%(tenants)s::uuid[], %(hosts)s::text[]) AS w (tenant_id, host)
  ON w.tenant_id = d.tenant_id AND w.host = d.host
