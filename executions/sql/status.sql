-- name: open_work
-- How much work is due, late, queued, running or waits for its retry; what waits for its
-- destination is due. What a tenant's own workers are to lease is due, but never late. Indexes
-- executions_due_idx, executions_parked_idx and executions_leased_idx; ids are bounded so that only
-- days with unfinished work are touched.
WITH parked AS MATERIALIZED (
    SELECT e.status, e.due_at FROM executions e
    WHERE e.id >= %(low)s AND e.id < %(high)s AND e.status IN ('PENDING', 'RETRYING')
      AND NOT e.held AND e.parked
)
SELECT
    (SELECT count(*) FROM executions e
     WHERE e.id >= %(low)s AND e.id < %(high)s AND e.status IN ('PENDING', 'RETRYING')
       AND NOT e.held AND NOT e.parked AND e.due_at <= now())
    + (SELECT count(*) FROM parked WHERE due_at <= now()),
    (SELECT count(*) FROM executions e
     WHERE e.id >= %(low)s AND e.id < %(high)s AND e.status IN ('PENDING', 'RETRYING')
       AND NOT e.held AND NOT e.parked AND e.due_at <= now() - %(late)s * interval '1 second'
       AND e.pool NOT LIKE 'pull.%%')
    + (SELECT count(*) FROM parked WHERE due_at <= now() - %(late)s * interval '1 second')
    + (SELECT count(*) FROM executions e
       WHERE e.id >= %(low)s AND e.id < %(high)s AND e.status = 'QUEUED'
         AND e.due_at <= now() - %(late)s * interval '1 second' AND e.pool NOT LIKE 'pull.%%'),
    (SELECT count(*) FROM executions e
     WHERE e.id >= %(low)s AND e.id < %(high)s AND e.status = 'QUEUED'),
    (SELECT count(*) FROM executions e
     WHERE e.id >= %(low)s AND e.id < %(high)s AND e.status = 'RUNNING'),
    (SELECT count(*) FROM executions e
     WHERE e.id >= %(low)s AND e.id < %(high)s AND e.status = 'RETRYING' AND NOT e.held AND NOT e.parked)
    + (SELECT count(*) FROM parked WHERE status = 'RETRYING')

-- name: recent
-- What finished of the instants since a moment, and how late attempts of them began, without the
-- delays of tenants' own workers; the bound on the id keeps it to one or two days.
SELECT count(*) FILTER (WHERE e.status = 'SUCCEEDED'),
       count(*) FILTER (WHERE e.status = 'FAILED'),
       percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY e.start_delay_ms)
           FILTER (WHERE e.pool NOT LIKE 'pull.%%')
FROM executions e
WHERE e.id >= %(since)s AND e.id < %(high)s AND e.span_count IS NULL

-- name: live_schedulers
-- Schedulers whose heartbeat is fresher than a lease.
SELECT count(*) FROM scheduler_nodes
WHERE heartbeat_at > now() - %(ttl)s * interval '1 second'
