-- name: waiting
-- Returns up to ``limit`` concurrency keys with waiting work, behind one: jumps from key to key. With
-- each: when its first work is due, where any is beyond the gate, and how many places are taken.
-- Indexes open_executions_key_waiting_idx and open_executions_key_taken_idx, whose rows all have a
-- key.
WITH RECURSIVE found AS (
    (SELECT e.tenant_id, e.concurrency_key FROM open_executions e
     WHERE e.key_place = 0 AND NOT e.gated
       AND (e.tenant_id, e.concurrency_key) > (%(tenant)s::uuid, %(key)s::text)
     ORDER BY e.tenant_id, e.concurrency_key LIMIT 1)
    UNION ALL
    SELECT n.tenant_id, n.concurrency_key FROM found f CROSS JOIN LATERAL (
        SELECT e.tenant_id, e.concurrency_key FROM open_executions e
        WHERE e.key_place = 0 AND NOT e.gated
          AND (e.tenant_id, e.concurrency_key) > (f.tenant_id, f.concurrency_key)
        ORDER BY e.tenant_id, e.concurrency_key LIMIT 1
    ) AS n
)
SELECT f.tenant_id, f.concurrency_key, h.due_at, coalesce(t.concurrency_max, 1), (
    SELECT count(*) FROM open_executions e
    WHERE e.key_place > 0
      AND e.tenant_id = f.tenant_id AND e.concurrency_key = f.concurrency_key)
FROM (SELECT * FROM found LIMIT %(limit)s) AS f
CROSS JOIN LATERAL (
    SELECT e.due_at, e.task_id FROM open_executions e
    WHERE e.key_place = 0 AND NOT e.gated
      AND e.tenant_id = f.tenant_id AND e.concurrency_key = f.concurrency_key
    ORDER BY e.due_at, e.task_id, e.id LIMIT 1
) AS h
LEFT JOIN tasks t ON t.id = h.task_id

-- name: take
-- Takes the advisory locks of keys, until the transaction ends: one session at a time counts a key's
-- places and gives them. Leaves out keys that another session has. A statement of its own: the next
-- one sees what that session has committed.
SELECT k.number FROM unnest(%(numbers)s::int[], %(tenants)s::uuid[], %(keys)s::text[])
    AS k (number, tenant_id, key)
WHERE pg_try_advisory_xact_lock(hashtextextended(k.tenant_id::text || ' ' || k.key, 727303))

-- name: due
-- Returns of each key the places taken, and its first due work in order, with the number that its
-- task allows, whether it wants strict order, the partition whose scheduler dispatches it, and whether
-- it needs a place among the runs of its tenant. Indexes as above.
SELECT k.number, (
    SELECT count(*) FROM open_executions e
    WHERE e.key_place > 0 AND e.tenant_id = k.tenant_id AND e.concurrency_key = k.key
), d.id, d.due_at, coalesce(t.concurrency_max, 1), coalesce(t.concurrency_fifo, false), d.partition,
    d.pool = 'workflow' AND d.run_id IS NULL
FROM unnest(%(numbers)s::int[], %(tenants)s::uuid[], %(keys)s::text[])
    AS k (number, tenant_id, key)
CROSS JOIN LATERAL (
    SELECT e.id, e.due_at, e.task_id, e.partition, e.pool, e.run_id FROM open_executions e
    WHERE e.key_place = 0 AND NOT e.gated
      AND e.tenant_id = k.tenant_id AND e.concurrency_key = k.key AND e.due_at <= %(now)s
    ORDER BY e.due_at, e.task_id, e.id LIMIT %(limit)s
) AS d
LEFT JOIN tasks t ON t.id = d.task_id
ORDER BY k.number, d.due_at, d.task_id, d.id

-- name: needed
-- Returns of each key the first due runs that steps or retries have asked for, as due does: in strict
-- order only these pass a run that waits for its tenant, since a run under way may wait for them.
-- Index open_executions_key_waiting_idx or open_executions_run_waits_idx.
SELECT k.number, d.id, d.due_at, coalesce(t.concurrency_max, 1),
       coalesce(t.concurrency_fifo, false), d.partition
FROM unnest(%(numbers)s::int[], %(tenants)s::uuid[], %(keys)s::text[])
    AS k (number, tenant_id, key)
CROSS JOIN LATERAL (
    SELECT e.id, e.due_at, e.task_id, e.partition FROM open_executions e
    WHERE e.key_place = 0 AND NOT e.gated
      AND e.pool = 'workflow' AND e.status = 'PENDING' AND e.held AND e.run_id IS NOT NULL
      AND e.tenant_id = k.tenant_id AND e.concurrency_key = k.key AND e.due_at <= %(now)s
    ORDER BY e.due_at, e.task_id, e.id LIMIT %(limit)s
) AS d
LEFT JOIN tasks t ON t.id = d.task_id
ORDER BY k.number, d.due_at, d.task_id, d.id

-- name: lock
-- Locks waiting work that is to get a place, against edit, pause and cancel; leaves out what another
-- session changes in this moment. Primary key.
SELECT e.id FROM open_executions e
JOIN unnest(%(ids)s::uuid[], %(keys)s::text[]) AS w (id, key) ON w.id = e.id
WHERE e.id = ANY(%(ids)s::uuid[]) AND e.key_place = 0 AND NOT e.gated AND e.concurrency_key = w.key
ORDER BY e.id FOR NO KEY UPDATE OF e SKIP LOCKED

-- name: admit
-- Gives locked work its place. Work in strict order keeps it to its end, other work until an attempt
-- has failed. A run that waits for a limit of its tenant leaves the line: it must not have a place
-- meanwhile. Work that had to wait is due now, because it could not start before; its nominal time
-- stays.
UPDATE open_executions e
SET key_place = CASE WHEN e.pool = 'workflow' AND e.reason = 'tenant_limit' THEN -1
                     WHEN o.fifo THEN 2 ELSE 1 END,
    held = e.pool = 'workflow' AND e.reason = 'tenant_limit',
    due_at = CASE WHEN o.waited THEN greatest(e.due_at, clock_timestamp()) ELSE e.due_at END
FROM unnest(%(ids)s::uuid[], %(fifo)s::boolean[], %(waited)s::boolean[]) AS o (id, fifo, waited)
WHERE e.id = o.id AND e.key_place = 0 AND NOT e.gated

-- name: listed
-- Returns up to ``limit`` of a tenant's keys that have open work, behind one and in their order, or
-- those of given keys: the work that has a place, the due work that waits, counted up to a number,
-- and since when the first of it is due. Indexes open_executions_key_waiting_idx and
-- open_executions_key_taken_idx.
WITH RECURSIVE found AS (
    SELECT %(after)s::text COLLATE "C" AS key
    UNION ALL
    SELECT least(
        (SELECT e.concurrency_key FROM open_executions e
         WHERE e.key_place = 0 AND NOT e.gated AND e.tenant_id = %(tenant)s
           AND e.concurrency_key > f.key ORDER BY e.concurrency_key LIMIT 1),
        (SELECT e.concurrency_key FROM open_executions e
         WHERE e.key_place > 0 AND e.tenant_id = %(tenant)s
           AND e.concurrency_key > f.key ORDER BY e.concurrency_key LIMIT 1))
    FROM found f WHERE f.key IS NOT NULL
), keys AS (
    SELECT f.key FROM found f
    WHERE %(only)s::text[] IS NULL AND f.key IS NOT NULL AND f.key <> %(after)s::text
      AND (%(q)s::text IS NULL OR strpos(f.key, %(q)s::text) > 0)
    LIMIT %(limit)s
)
SELECT k.key, (
    SELECT count(*) FROM open_executions e
    WHERE e.key_place > 0 AND e.tenant_id = %(tenant)s AND e.concurrency_key = k.key
), w.waiting, w.since
FROM (SELECT key FROM keys UNION ALL SELECT unnest(%(only)s::text[]) COLLATE "C") AS k
CROSS JOIN LATERAL (
    SELECT count(*) AS waiting, min(d.due_at) AS since FROM (
        SELECT e.due_at FROM open_executions e
        WHERE e.key_place = 0 AND NOT e.gated AND e.tenant_id = %(tenant)s
          AND e.concurrency_key = k.key AND e.due_at <= now()
        ORDER BY e.due_at LIMIT %(most)s
    ) AS d
) AS w
ORDER BY k.key

-- name: holders
-- Returns the work that has the places of a tenant's keys, the first due first, up to a number for
-- each key. Index open_executions_key_taken_idx.
SELECT k.key, h.id, h.task_id, h.name, h.status, h.started_at, h.due_at
FROM unnest(%(keys)s::text[]) AS k (key)
CROSS JOIN LATERAL (
    SELECT e.id, e.task_id, t.name, e.status, e.started_at, e.due_at
    FROM open_executions e LEFT JOIN tasks t ON t.id = e.task_id
    WHERE e.key_place > 0 AND e.tenant_id = %(tenant)s AND e.concurrency_key = k.key
    ORDER BY e.due_at, e.id LIMIT %(each)s
) AS h
ORDER BY k.key, h.due_at, h.id

-- name: before_in_line
-- Counts due work of a key that goes before an execution, up to a number. Index
-- open_executions_key_waiting_idx.
SELECT count(*) FROM (
    SELECT FROM open_executions e
    WHERE e.key_place = 0 AND NOT e.gated AND e.tenant_id = %(tenant)s
      AND e.concurrency_key = %(key)s
      AND (e.due_at, e.task_id, e.id) < (%(due)s, %(task)s, %(id)s)
    LIMIT %(most)s
) AS before
