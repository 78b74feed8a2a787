-- name: settings
-- Returns the server's version and the settings that decide whether a commit survives a crash.
SELECT name, setting FROM pg_settings
WHERE name IN ('server_version', 'server_version_num', 'fsync', 'synchronous_commit',
               'full_page_writes', 'max_connections', 'superuser_reserved_connections')

-- name: connections
-- Counts sessions of clients, of all databases of the server: the limit is the server's. Of other
-- roles' sessions a role may see no type; those of the server's own processes have no user.
SELECT count(*) FROM pg_stat_activity
WHERE backend_type = 'client backend' OR (backend_type IS NULL AND usesysid IS NOT NULL)

-- name: oldest_transaction
-- Returns the longest open transaction of another session, which keeps old row versions alive: its
-- age in seconds, and the facts to find and end it.
SELECT extract(epoch FROM clock_timestamp() - a.xact_start)::float8, a.pid, a.application_name,
       a.state
FROM pg_stat_activity a
WHERE a.xact_start IS NOT NULL AND a.backend_type = 'client backend'
  AND a.pid <> pg_backend_pid()
ORDER BY a.xact_start LIMIT 1

-- name: oldest_due
-- Returns the oldest work that is due and has not started, with its state, without work for a
-- tenant's own workers. Indexes open_executions_due_idx and open_executions_leased_idx.
SELECT w.status, w.id, extract(epoch FROM clock_timestamp() - w.due_at)::float8
FROM (
    (SELECT e.status, e.id, e.due_at
     FROM generate_series(0, 9) AS p
     CROSS JOIN LATERAL (
         SELECT x.status, x.id, x.due_at FROM open_executions x
         WHERE x.status IN ('PENDING', 'RETRYING')
           AND NOT x.held AND NOT x.parked AND x.priority = p::smallint AND x.due_at <= now()
           AND x.pool NOT LIKE 'pull.%%'
         ORDER BY x.due_at LIMIT 1
     ) AS e
     ORDER BY e.due_at LIMIT 1)
    UNION ALL
    (SELECT q.status, q.id, q.due_at FROM open_executions q
     WHERE q.status = 'QUEUED' AND q.due_at <= now()
       AND q.pool NOT LIKE 'pull.%%'
     ORDER BY q.due_at LIMIT 1)
) AS w
ORDER BY w.due_at LIMIT 1

-- name: pull_pools
-- Counts due work that no worker has leased, and its pools of all tenants, and returns for how many
-- seconds the oldest has waited. Index open_executions_pull_idx.
SELECT count(*), count(DISTINCT (e.tenant_id, e.pool)),
       extract(epoch FROM now() - min(e.due_at))::float8
FROM open_executions e
WHERE e.status IN ('PENDING', 'RETRYING')
  AND NOT e.held AND NOT e.parked AND e.pool LIKE 'pull.%%' AND e.due_at <= now()

-- name: parked
-- Counts due work that waits for its destination, and the destinations of all tenants, and returns
-- for how many seconds the oldest has waited. Index open_executions_parked_idx.
SELECT count(*), count(DISTINCT (e.tenant_id, e.destination)),
       extract(epoch FROM now() - min(e.due_at))::float8
FROM open_executions e
WHERE e.status IN ('PENDING', 'RETRYING')
  AND NOT e.held AND e.parked AND e.due_at <= now()
