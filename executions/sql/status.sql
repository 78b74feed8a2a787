-- name: open_work
-- Counts work that is due, late, queued, running or RETRYING (work on hold too), and the due work
-- that waits for its destination, or for a tenant's own workers; such work is due, but never late.
-- Indexes open_executions_due_idx, open_executions_parked_idx, open_executions_held_idx,
-- open_executions_leased_idx and open_executions_pull_idx.
WITH parked AS MATERIALIZED (
    SELECT e.status, e.due_at FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING')
      AND NOT e.held AND e.parked
)
SELECT
    (SELECT count(*) FROM open_executions e
     WHERE e.status IN ('PENDING', 'RETRYING')
       AND NOT e.held AND NOT e.parked AND e.due_at <= now())
    + (SELECT count(*) FROM parked WHERE due_at <= now()),
    (SELECT count(*) FROM open_executions e
     WHERE e.status IN ('PENDING', 'RETRYING')
       AND NOT e.held AND NOT e.parked AND e.due_at <= now() - %(late)s * interval '1 second'
       AND e.pool NOT LIKE 'pull.%%')
    + (SELECT count(*) FROM open_executions e
       WHERE e.status = 'QUEUED'
         AND e.due_at <= now() - %(late)s * interval '1 second' AND e.pool NOT LIKE 'pull.%%'),
    (SELECT count(*) FROM open_executions e
     WHERE e.status = 'QUEUED'),
    (SELECT count(*) FROM open_executions e
     WHERE e.status = 'RUNNING'),
    (SELECT count(*) FROM open_executions e
     WHERE e.status = 'RETRYING' AND NOT e.held AND NOT e.parked)
    + (SELECT count(*) FROM parked WHERE status = 'RETRYING')
    + (SELECT count(*) FROM open_executions e
       WHERE e.status = 'RETRYING' AND e.held),
    (SELECT count(*) FROM parked WHERE due_at <= now()),
    (SELECT count(*) FROM open_executions e
     WHERE e.status IN ('PENDING', 'RETRYING')
       AND NOT e.held AND NOT e.parked AND e.pool LIKE 'pull.%%' AND e.due_at <= now())

-- name: recent
-- Counts successes and failures of tasks and of runs in the minutes of all tenants since a given
-- minute, without those of steps, and first attempts by their start delay. The primary key of
-- minute_stats, tenant by tenant.
WITH hour AS MATERIALIZED (
    SELECT m.* FROM tenants t
    JOIN minute_stats m ON m.tenant_id = t.id AND m.minute >= %(since)s
)
SELECT coalesce(sum(h.succeeded - h.steps_succeeded + h.runs_succeeded), 0)::bigint,
       coalesce(sum(h.failed - h.steps_failed + h.runs_failed), 0)::bigint,
       (SELECT array_agg(b.starts ORDER BY b.place) FROM (
            SELECT d.place, sum(d.starts)::bigint AS starts
            FROM hour, unnest(hour.start_delays) WITH ORDINALITY AS d (starts, place)
            GROUP BY d.place) AS b)
FROM hour h

-- name: live_schedulers
-- Counts schedulers whose heartbeat is fresher than a lease.
SELECT count(*) FROM scheduler_nodes
WHERE heartbeat_at > now() - %(ttl)s * interval '1 second'
