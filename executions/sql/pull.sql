-- name: share_pool
-- Keeps a pool from being changed until the lease that reads it commits: after the answer that
-- pauses it, no work is leased from it. The unique index pool_is_one_row.
SELECT p.id FROM pools p WHERE p.tenant_id = %(tenant)s AND p.name = %(name)s FOR SHARE

-- name: own_pool
-- Allows one lease at a time to count the leased work of a pool with a limit; ends with the
-- transaction.
SELECT pg_advisory_xact_lock(hashtextextended('pool ' || %(tenant)s::text || ' ' || %(pool)s, 0))

-- name: count_leased
-- Counts work that the workers of one pool of a tenant have leased or run. Index
-- open_executions_pull_leased_idx.
SELECT count(*) FROM open_executions e
WHERE e.status IN ('QUEUED', 'RUNNING')
  AND e.tenant_id = %(tenant)s AND e.pool = %(pool)s AND e.pool LIKE 'pull.%%'

-- name: heads
-- Returns the priorities with due work that the worker's labels satisfy, of one pool of a tenant,
-- and since when the first of each is due. Index open_executions_pull_idx.
SELECT h.priority, h.due_at
FROM unnest(ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[]) AS p CROSS JOIN LATERAL (
    SELECT e.priority, e.due_at FROM open_executions e
    JOIN task_revisions r ON r.task_id = e.task_id AND r.version = e.revision
    WHERE e.tenant_id = %(tenant)s
      AND e.pool = %(pool)s AND e.pool LIKE 'pull.%%' AND e.priority = p
      AND e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
      AND e.due_at <= statement_timestamp()
      AND coalesce(r.definition #> '{target,requires}', '{}'::jsonb) <@ %(labels)s::jsonb
    ORDER BY e.due_at LIMIT 1
) AS h
ORDER BY h.priority

-- name: claim
-- Moves due work of a band's priorities, of one pool of a tenant, to QUEUED under a new fencing
-- token and a lease of the given length; only work that the worker's labels satisfy. By priority,
-- then by due time, but ``oldest`` places go to the oldest work, which has the priority ``eldest``.
-- Skips rows that are being changed in this moment. Index open_executions_pull_idx.
WITH due AS MATERIALIZED (
    SELECT v.old, d.* FROM (VALUES
        (true, %(eldest)s::smallint[], %(oldest)s), (false, %(priorities)s, %(limit)s)
    ) AS v (old, priorities, most)
    CROSS JOIN LATERAL (
        SELECT f.* FROM unnest(v.priorities) AS p CROSS JOIN LATERAL (
            SELECT e.id, (r.definition #>> '{target,max_runtime_seconds}')::float8 AS longest
            FROM open_executions e
            JOIN task_revisions r ON r.task_id = e.task_id AND r.version = e.revision
            WHERE e.tenant_id = %(tenant)s
              AND e.pool = %(pool)s AND e.pool LIKE 'pull.%%' AND e.priority = p
              AND e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
              AND e.due_at <= statement_timestamp()
              AND coalesce(r.definition #> '{target,requires}', '{}'::jsonb) <@ %(labels)s::jsonb
            ORDER BY e.due_at
            LIMIT v.most
            FOR NO KEY UPDATE OF e SKIP LOCKED
        ) AS f
        LIMIT v.most
    ) AS d
    LIMIT %(limit)s + %(oldest)s
), chosen AS (
    SELECT d.id, d.longest FROM due d
    WHERE d.old OR d.id NOT IN (SELECT id FROM due WHERE old)
    LIMIT %(limit)s
), moved AS (
    UPDATE open_executions e
    SET status = 'QUEUED', fencing_token = nextval('execution_token_seq'),
        queued_at = statement_timestamp(),
        incarnation = %(incarnation)s, worker = %(worker)s, accepted_at = NULL,
        timeout_seconds = %(lease_seconds)s,
        lease_expires_at = statement_timestamp()
            + least(%(lease_seconds)s, c.longest) * interval '1 second'
    FROM chosen c
    WHERE e.id = c.id
    RETURNING e.id, e.tenant_id, e.task_id, e.revision, e.scheduled_for, e.due_at, e.attempt,
              e.max_attempts, e.fencing_token, e.lease_expires_at, e.priority, e.sealed_payload,
              e.destination, e.lost_count, e.sealed_progress, e.trace_context
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.queued', array_agg(id), array_agg(task_id)
    FROM moved GROUP BY tenant_id
)
SELECT m.id, m.tenant_id, m.task_id, m.revision, m.scheduled_for, m.due_at, m.attempt,
       m.max_attempts, m.fencing_token, m.lease_expires_at, m.priority, m.sealed_payload,
       r.definition -> 'target', r.definition -> 'retry_policy', r.sealed,
       m.destination, m.lost_count, m.sealed_progress, NULL::jsonb, NULL::integer, NULL::float8,
       NULL::boolean, m.trace_context
FROM moved m
JOIN task_revisions r ON r.task_id = m.task_id AND r.version = m.revision
ORDER BY m.priority, m.due_at

-- name: ready
-- Returns for each group of waiting workers (tenant, pool, labels) how many executions they could
-- lease now, up to the wanted number. Index open_executions_pull_idx.
SELECT w.number, (
    SELECT count(*) FROM (
        SELECT 1
        FROM open_executions e
        JOIN task_revisions r ON r.task_id = e.task_id AND r.version = e.revision
        WHERE e.tenant_id = w.tenant
          AND e.pool = w.pool AND e.pool LIKE 'pull.%%'
          AND e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.due_at <= statement_timestamp()
          AND coalesce(r.definition #> '{target,requires}', '{}'::jsonb) <@ w.labels
        LIMIT w.wanted
    ) AS found
)
FROM unnest(
    %(numbers)s::int[], %(tenants)s::uuid[], %(pools)s::text[], %(labels)s::jsonb[],
    %(wanted)s::int[]
) AS w (number, tenant, pool, labels, wanted)
LEFT JOIN pools p ON p.tenant_id = w.tenant AND 'pull.' || p.name = w.pool
WHERE NOT coalesce(p.paused, false)
  AND (p.max_in_flight IS NULL OR p.max_in_flight > (
      SELECT count(*) FROM open_executions e
      WHERE e.status IN ('QUEUED', 'RUNNING')
        AND e.tenant_id = w.tenant AND e.pool = w.pool AND e.pool LIKE 'pull.%%'))

-- name: depths
-- Counts due work that waits, per pool of a tenant, with its oldest due time. Index
-- open_executions_pull_idx.
SELECT e.pool, count(*), min(e.due_at) FROM open_executions e
WHERE e.tenant_id = %(tenant)s
  AND e.pool LIKE 'pull.%%' AND e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
  AND e.due_at <= statement_timestamp()
GROUP BY e.pool

-- name: in_flight
-- Counts leased or running work per tenant, pool and worker; of one tenant, or of all where none is
-- given. Index open_executions_pull_leased_idx.
SELECT e.tenant_id, e.pool, e.worker, count(*) FROM open_executions e
WHERE e.status IN ('QUEUED', 'RUNNING')
  AND (%(tenant)s::uuid IS NULL OR e.tenant_id = %(tenant)s) AND e.pool LIKE 'pull.%%'
GROUP BY e.tenant_id, e.pool, e.worker
