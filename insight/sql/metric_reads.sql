-- name: queue
-- Counts due work that has not started: not handed out, waiting for its destination, handed to a
-- worker; then work that workers run, and due work that waits for tenants' own workers; returns for
-- how many seconds the oldest has waited, runs of workflows that wait to begin too. Each count ends
-- at ``most``: a backlog must not make the scrape slow. Nothing walks past the work of tenants' own
-- workers, which may be away for days. Indexes open_executions_flow_idx, open_executions_parked_idx,
-- open_executions_leased_idx, open_executions_to_begin_idx and open_executions_pull_idx.
WITH leased AS MATERIALIZED (
    SELECT e.status, e.due_at, e.due_at <= now() AS due, e.pool FROM open_executions e
    WHERE e.status IN ('QUEUED', 'RUNNING') AND e.lease_expires_at < '9999-01-01T00:00:00Z'
    LIMIT %(most)s
), waiting AS MATERIALIZED (
    SELECT e.due_at FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
      AND e.due_at <= now() AND e.pool NOT LIKE 'pull.%%' AND e.pool <> 'workflow'
    LIMIT %(most)s
), oldest AS (
    SELECT min(due_at) AS due_at FROM waiting
    UNION ALL
    SELECT min(due_at) FROM leased WHERE status = 'QUEUED' AND pool NOT LIKE 'pull.%%'
    UNION ALL
    (SELECT e.due_at FROM open_executions e
     WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND NOT e.held
     ORDER BY e.due_at LIMIT 1)
)
SELECT (SELECT count(*) FROM waiting),
       (SELECT count(*) FROM (
            SELECT FROM open_executions e
            WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND e.parked
              AND e.due_at <= now()
            LIMIT %(most)s) AS p),
       (SELECT count(*) FROM leased WHERE status = 'QUEUED' AND due),
       (SELECT count(*) FROM leased WHERE status = 'RUNNING'),
       (SELECT count(*) FROM (
            SELECT FROM open_executions e
            WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
              AND e.pool LIKE 'pull.%%' AND e.due_at <= now()
            LIMIT %(most)s) AS q),
       (SELECT greatest(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::float8 FROM oldest)

-- name: partitions
-- Counts the partitions that no scheduler owns, and returns for how many seconds the one has waited
-- that has waited longest; counts all partitions and the live schedulers. Small tables.
SELECT count(*) FILTER (WHERE p.ended_at <= now()),
       greatest(coalesce(max(extract(epoch FROM now() - p.ended_at)) FILTER (
           WHERE p.ended_at <= now() AND p.ended_at > '-infinity'), 0), 0)::float8,
       count(*),
       (SELECT count(*) FROM scheduler_nodes n
        WHERE n.heartbeat_at > now() - %(ttl)s * interval '1 second')
FROM (
    SELECT coalesce(least(l.expires_at, n.lease_expires_at), '-infinity') AS ended_at
    FROM partition_leases l LEFT JOIN scheduler_nodes n ON n.id = l.owner
) AS p

-- name: open_letters
-- Counts the dead letters that wait for a decision, up to ``most`` of each tenant and ``of_all`` of
-- all: neither one tenant nor many make the scrape slow. Index dead_letters_open_idx, for each tenant.
SELECT count(*) FROM (
    SELECT FROM tenants t CROSS JOIN LATERAL (
        SELECT FROM dead_letters d WHERE d.tenant_id = t.id AND NOT d.resolved LIMIT %(most)s
    ) AS d
    LIMIT %(of_all)s
) AS l

-- name: open_runs
-- Counts the runs of workflows that are in flight, up to ``most``.
SELECT count(*) FROM (SELECT FROM workflow_runs LIMIT %(most)s) AS r

-- name: oldest_snapshot
-- Returns the age in seconds of the oldest snapshot of another session, which keeps old versions
-- of rows alive. By a function: PostgreSQL shows the web's role no sessions of others.
SELECT oldest_snapshot_seconds()

-- name: due_without_worker
-- Returns the installation's pools other than the ``served`` ones that have due work, with how much,
-- up to ``most`` of each. Steps from pool to pool, up to ``pools`` of them: a pool that has workers
-- costs one step, however long its queue is. Index open_executions_flow_idx.
WITH RECURSIVE waiting AS (
    (SELECT e.pool, 1 AS step FROM open_executions e
     WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
       AND e.pool NOT LIKE 'pull.%%'
     ORDER BY e.pool LIMIT 1)
    UNION ALL
    SELECT later.pool, w.step + 1
    FROM waiting w CROSS JOIN LATERAL (
        SELECT e.pool FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.pool NOT LIKE 'pull.%%' AND e.pool > w.pool
        ORDER BY e.pool LIMIT 1
    ) AS later
    WHERE w.step < %(pools)s
)
SELECT w.pool, due.number
FROM waiting w CROSS JOIN LATERAL (
    SELECT count(*) AS number FROM (
        SELECT FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.pool NOT LIKE 'pull.%%' AND e.pool = w.pool AND e.due_at <= now()
        LIMIT %(most)s) AS d
) AS due
WHERE w.pool <> ALL(%(served)s) AND due.number > 0

-- name: ending_keys
-- Counts, up to ``most``, the API keys that end within ``days`` although programs use them: used
-- within ``idle`` days, made for longer than that, and not rotated. Index api_keys_ending_idx.
SELECT count(*) FROM (
    SELECT FROM api_keys k
    WHERE k.expires_at > now() AND k.expires_at <= now() + make_interval(days => %(days)s)
      AND k.revoked_at IS NULL AND k.replaced_by IS NULL
      AND k.last_used_at > now() - make_interval(days => %(idle)s)
      AND k.expires_at > k.created_at + make_interval(days => %(idle)s)
    LIMIT %(most)s
) AS k

-- name: lag_of_tenants
-- Returns the tenants whose due work of the installation's own workers has waited longest, with the
-- seconds; from ``most`` rows. Index open_executions_flow_idx.
SELECT w.tenant_id::text, extract(epoch FROM now() - min(w.due_at))::float8
FROM (
    SELECT e.tenant_id, e.due_at FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
      AND e.due_at <= now() AND e.pool NOT LIKE 'pull.%%' AND e.pool <> 'workflow'
    LIMIT %(most)s
) AS w
GROUP BY w.tenant_id
ORDER BY 2 DESC, 1
