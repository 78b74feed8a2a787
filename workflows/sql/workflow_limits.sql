-- name: own
-- Lets one session at a time begin runs, or steps, of a tenant that has a limit of them; ends with
-- the transaction. An advisory lock, no index.
SELECT pg_advisory_xact_lock(hashtextextended(%(kind)s || ' of ' || %(tenant)s::text, 727305))

-- name: try_to_own
-- Does the same without waiting; returns whether the session has it.
SELECT pg_try_advisory_xact_lock(hashtextextended(%(kind)s || ' of ' || %(tenant)s::text, 727305))

-- name: due_tenants
-- Returns the tenants of the first due runs that neither a step nor a retry has asked for, without
-- some tenants. Index open_executions_to_begin_idx.
SELECT DISTINCT d.tenant_id FROM (
    SELECT e.tenant_id FROM open_executions e
    WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND NOT e.held AND e.run_id IS NULL
      AND e.due_at <= clock_timestamp() AND e.partition = ANY(%(partitions)s)
      AND e.tenant_id <> ALL(%(without)s::uuid[])
    ORDER BY e.due_at LIMIT %(limit)s
) AS d

-- name: first_due
-- Returns the first due runs of a tenant that neither a step nor a retry has asked for. Index
-- open_executions_to_begin_idx.
SELECT e.id FROM open_executions e
WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND NOT e.held AND e.run_id IS NULL
  AND e.due_at <= clock_timestamp() AND e.partition = ANY(%(partitions)s)
  AND e.tenant_id = %(tenant)s
ORDER BY e.due_at LIMIT %(limit)s

-- name: put_by
-- Lets due runs of a tenant wait for its limit, on hold, so that the next look does not meet them;
-- not those that are to begin. Each gives back the place of its key: a run that has begun may wait
-- for that key, and would never end. In strict order it goes back into its line, where the keys see
-- that its tenant is full. A run with a reason of its own keeps the reason: it waits as it is, or
-- behind the line of its key. Returns how many have given their place back: for one behind the line
-- that is no news, and it would be looked at without a pause. Index open_executions_to_begin_idx.
WITH put AS (
    UPDATE open_executions e
    SET held = true,
        reason = CASE WHEN e.reason = '' AND e.key_place IS DISTINCT FROM 2 THEN 'tenant_limit'
                      ELSE e.reason END,
        key_place = CASE e.key_place WHEN 1 THEN -(e.reason = '')::integer WHEN 2 THEN 0
                                     ELSE e.key_place END,
        due_at = CASE
            WHEN e.key_place IS NULL THEN e.due_at
            WHEN e.key_place = 1 AND e.reason <> '' THEN clock_timestamp()
            ELSE least(e.due_at, CASE e.trigger WHEN 'schedule' THEN e.scheduled_for
                                 ELSE e.created_at END) END
    WHERE e.id = ANY(ARRAY(
        SELECT d.id FROM open_executions d
        WHERE d.pool = 'workflow' AND d.status = 'PENDING' AND NOT d.held AND d.run_id IS NULL
          AND d.due_at <= clock_timestamp() AND d.partition = ANY(%(partitions)s)
          AND d.tenant_id = %(tenant)s AND (d.reason = '' OR d.key_place > 0)
          AND d.id <> ALL(%(allowed)s::uuid[])
        ORDER BY d.due_at LIMIT %(limit)s
        FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING old.key_place = 2 OR old.key_place > 0 AND new.key_place < 0 AS has_left
)
SELECT count(*) FILTER (WHERE has_left) FROM put

-- name: waiting_tenants
-- Returns the tenants with work that waits for a limit: jumps from tenant to tenant. Index
-- open_executions_over_limit_idx.
WITH RECURSIVE tenants AS (
    (SELECT e.tenant_id FROM open_executions e
     WHERE e.status = 'PENDING' AND e.held AND e.reason = 'tenant_limit'
     ORDER BY e.tenant_id LIMIT 1)
    UNION ALL
    SELECT n.tenant_id FROM tenants t CROSS JOIN LATERAL (
        SELECT e.tenant_id FROM open_executions e
        WHERE e.status = 'PENDING' AND e.held AND e.reason = 'tenant_limit'
          AND e.tenant_id > t.tenant_id
        ORDER BY e.tenant_id LIMIT 1
    ) AS n
)
SELECT tenant_id FROM tenants

-- name: free_runs
-- Frees the first runs that wait for the limit of a tenant; the run of a paused workflow stays on
-- hold, and one with a key, which waits in its line. Index open_executions_over_limit_idx.
UPDATE open_executions e
SET held = t.status = 'PAUSED' OR coalesce(e.key_place <= 0, false), reason = '',
    key_place = CASE WHEN e.key_place = -1 AND t.status <> 'PAUSED' THEN 0 ELSE e.key_place END
FROM tasks t
WHERE t.id = e.task_id AND e.id = ANY(ARRAY(
    SELECT w.id FROM open_executions w
    WHERE w.status = 'PENDING' AND w.held AND w.reason = 'tenant_limit'
      AND w.tenant_id = %(tenant)s AND (w.pool = 'workflow')::int = 1
    ORDER BY w.due_at LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED))

-- name: give_back
-- Takes places of keys from runs that wait for their tenant: the version before leaves them these.
-- Index open_executions_over_limit_idx.
UPDATE open_executions e SET key_place = -1
WHERE e.id = ANY(ARRAY(
    SELECT w.id FROM open_executions w
    WHERE w.status = 'PENDING' AND w.held AND w.reason = 'tenant_limit' AND w.pool = 'workflow'
      AND w.key_place > 0
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED))

-- name: lock_aside
-- Locks runs that no reason keeps out of the line of their key, but perhaps the pause of their
-- workflow: the version before frees a run that waited for its tenant without a way into its line.
-- Index open_executions_key_aside_idx.
SELECT e.id FROM open_executions e
WHERE e.key_place = -1 AND e.pool = 'workflow' AND e.status = 'PENDING' AND e.held AND NOT e.gated
  AND e.reason = '' AND NOT EXISTS (
      SELECT FROM tasks t WHERE t.id = e.task_id AND t.status = 'PAUSED')
ORDER BY e.id LIMIT %(limit)s
FOR NO KEY UPDATE OF e SKIP LOCKED

-- name: put_in_line
-- After lock_aside: lets locked runs wait in the line of their key, unless their workflow was paused
-- before they were locked. Primary keys.
UPDATE open_executions e SET key_place = 0
FROM tasks t
WHERE e.id = ANY(%(ids)s) AND e.key_place = -1 AND t.id = e.task_id AND t.status <> 'PAUSED'

-- name: lock_waiting_steps
-- Locks the first steps that wait for the limit of a tenant, with their places; not other work, which
-- has that reason where a worker's start was refused. Index open_executions_over_limit_idx.
SELECT w.id, w.pool, w.destination FROM open_executions w
WHERE w.status = 'PENDING' AND w.held AND w.reason = 'tenant_limit' AND w.step IS NOT NULL
  AND w.tenant_id = %(tenant)s AND (w.pool = 'workflow')::int = 0
ORDER BY w.due_at LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED

-- name: free_steps
-- Frees locked steps; those whose place is paused stay on hold for that.
UPDATE open_executions e SET held = g.reason <> '', reason = g.reason
FROM unnest(%(ids)s::uuid[], %(reasons)s::text[]) AS g (id, reason)
WHERE e.id = g.id
