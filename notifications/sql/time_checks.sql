-- name: tenants_with_targets
-- Returns the tenants that have a task with a target, or had one in an earlier version.
-- Keep the subquery: a join would read all tasks. Index task_revisions_targets_idx.
SELECT DISTINCT (SELECT t.tenant_id FROM tasks t WHERE t.id = r.task_id) FROM task_revisions r
WHERE r.definition ? 'targets'
  AND jsonb_path_exists(r.definition, '$.targets.* ? (@ != null)')

-- name: plan_in_order
-- Goes before the statements about what has not started: where a table was counted while it was
-- empty, a planner that expects one row in place of many would read all of them to sort them. Ends
-- with plan_freely, or with the transaction.
SET LOCAL enable_sort = off

-- name: plan_freely
-- Goes after them: other statements may sort.
SET LOCAL enable_sort TO DEFAULT

-- name: overdue_cursors
-- Returns instants that passed more than ``least`` seconds ago and that no scheduler has prepared:
-- the first of each task, up to ``each`` tasks of a tenant, the oldest ones; since when it could have
-- started, and the task's own target. That is its time with the longest jitter, or later the moment
-- at which the task was made, changed or resumed with an instant that had passed. Paused tasks and
-- ones that wait for others have no such instant. Index task_cursors_of_tenant_idx, for each tenant.
SELECT k.tenant_id, k.task_id, NULL::uuid, s.pool, 'schedule', 0::smallint,
       greatest(
           greatest(k.next_run_at, k.replayed_until)
               + coalesce((s.schedule ->> 'jitter_seconds')::float8, 0) * interval '1 second',
           s.updated_at),
       (r.definition #>> '{targets,start_within_seconds}')::float8, k.next_run_at
FROM tenants n
CROSS JOIN LATERAL (
    SELECT c.tenant_id, c.task_id, c.next_run_at, c.replayed_until FROM task_cursors c
    WHERE c.tenant_id = n.id AND c.tenant_id IS NOT NULL AND NOT c.held
      AND c.next_run_at < %(now)s::timestamptz - %(least)s::float8 * interval '1 second'
    ORDER BY c.next_run_at LIMIT %(each)s
) AS k
JOIN tasks s ON s.id = k.task_id AND s.status = 'SCHEDULED' AND s.deleted_at IS NULL
LEFT JOIN task_revisions r ON r.task_id = s.id AND r.version = s.version
    AND r.definition ? 'targets'
LIMIT %(most)s

-- part: groups
-- The pools of our own workers with waiting work, with each tenant and priority: steps from one to
-- the next, up to ``groups`` of them. Index open_executions_flow_idx.
groups AS (
    (SELECT e.pool, e.tenant_id, e.priority, 1 AS step FROM open_executions e
     WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
       AND e.pool NOT LIKE 'pull.%%'
     ORDER BY e.pool, e.tenant_id, e.priority LIMIT 1)
    UNION ALL
    SELECT n.pool, n.tenant_id, n.priority, g.step + 1
    FROM groups g CROSS JOIN LATERAL (
        SELECT e.pool, e.tenant_id, e.priority FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.pool NOT LIKE 'pull.%%'
          AND (e.pool, e.tenant_id, e.priority) > (g.pool, g.tenant_id, g.priority)
        ORDER BY e.pool, e.tenant_id, e.priority LIMIT 1
    ) AS n
    WHERE g.step < %(groups)s
)

-- name: overdue_work
-- Returns prepared work that is due for more than ``least`` seconds and that no worker has taken:
-- up to ``each`` of a pool, tenant and priority, the oldest ones, each with the own target of its
-- task. Work that waits on hold, or for its destination, is not among it: it waits for what its
-- definition or a person has asked for. Indexes open_executions_flow_idx and
-- task_revisions_targets_idx.
WITH RECURSIVE -- parts: groups
SELECT e.tenant_id, e.task_id, e.id, e.pool, e.trigger, e.attempt,
       greatest(e.due_at, s.updated_at),
       (r.definition #>> '{targets,start_within_seconds}')::float8, NULL::timestamptz
FROM groups g
CROSS JOIN LATERAL (
    SELECT o.* FROM open_executions o
    WHERE o.status IN ('PENDING', 'RETRYING') AND NOT o.held AND NOT o.parked
      AND o.pool = g.pool AND o.pool NOT LIKE 'pull.%%'
      AND o.tenant_id = g.tenant_id AND o.priority = g.priority
      AND o.due_at < %(now)s::timestamptz - %(least)s::float8 * interval '1 second'
    ORDER BY o.due_at LIMIT %(each)s
) AS e
JOIN tasks s ON s.id = e.task_id
LEFT JOIN task_revisions r ON r.task_id = s.id AND r.version = s.version
    AND r.definition ? 'targets'
LIMIT %(most)s

-- part: pull_groups
-- The same of pools of tenants' own workers that are not paused. Index open_executions_pull_idx.
pull_groups AS (
    (SELECT e.tenant_id, e.pool, e.priority, 1 AS step FROM open_executions e
     WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
       AND e.pool LIKE 'pull.%%'
     ORDER BY e.tenant_id, e.pool, e.priority LIMIT 1)
    UNION ALL
    SELECT n.tenant_id, n.pool, n.priority, g.step + 1
    FROM pull_groups g CROSS JOIN LATERAL (
        SELECT e.tenant_id, e.pool, e.priority FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.pool LIKE 'pull.%%'
          AND (e.tenant_id, e.pool, e.priority) > (g.tenant_id, g.pool, g.priority)
        ORDER BY e.tenant_id, e.pool, e.priority LIMIT 1
    ) AS n
    WHERE g.step < %(groups)s
)

-- name: overdue_pull_work
-- Returns the same of work for tenants' own workers. Indexes open_executions_pull_idx,
-- pool_is_one_row and task_revisions_targets_idx.
WITH RECURSIVE -- parts: pull_groups
SELECT e.tenant_id, e.task_id, e.id, e.pool, e.trigger, e.attempt,
       greatest(e.due_at, s.updated_at),
       (r.definition #>> '{targets,start_within_seconds}')::float8, NULL::timestamptz
FROM pull_groups g
CROSS JOIN LATERAL (
    SELECT o.* FROM open_executions o
    WHERE o.status IN ('PENDING', 'RETRYING') AND NOT o.held AND NOT o.parked
      AND o.pool = g.pool AND o.pool LIKE 'pull.%%'
      AND o.tenant_id = g.tenant_id AND o.priority = g.priority
      AND o.due_at < %(now)s::timestamptz - %(least)s::float8 * interval '1 second'
    ORDER BY o.due_at LIMIT %(each)s
) AS e
JOIN tasks s ON s.id = e.task_id
LEFT JOIN task_revisions r ON r.task_id = s.id AND r.version = s.version
    AND r.definition ? 'targets'
WHERE NOT EXISTS (
    SELECT FROM pools p
    WHERE p.tenant_id = g.tenant_id AND p.name = substr(g.pool, 6) AND p.paused
)
LIMIT %(most)s

-- name: handed_out
-- Returns work that a worker was given and has not started for more than ``least`` seconds after it
-- was due, with the own target of its task. It could start since it was given out: before, it may
-- have waited for its destination or a limit. Indexes open_executions_leased_idx and
-- task_revisions_targets_idx.
SELECT e.tenant_id, e.task_id, e.id, e.pool, e.trigger, e.attempt,
       greatest(e.due_at, e.queued_at, s.updated_at),
       (r.definition #>> '{targets,start_within_seconds}')::float8, NULL::timestamptz
FROM (
    SELECT o.* FROM open_executions o
    WHERE o.status = 'QUEUED'
      AND o.due_at < %(now)s::timestamptz - %(least)s::float8 * interval '1 second'
    LIMIT %(most)s
) AS e
JOIN tasks s ON s.id = e.task_id
LEFT JOIN task_revisions r ON r.task_id = s.id AND r.version = s.version
    AND r.definition ? 'targets'

-- name: ended_lately
-- Returns how many attempts of these tenants ended since the begin of a minute, and how many
-- milliseconds they took. Primary key of minute_stats.
SELECT m.tenant_id, sum(m.attempts)::bigint, sum(m.execution_ms)::bigint
FROM minute_stats m
WHERE m.tenant_id = ANY(%(tenants)s::uuid[]) AND m.minute >= %(since)s
GROUP BY m.tenant_id

-- name: running_long
-- Returns executions that run for longer than their task's own target, or for more than ``least``
-- seconds, each with that target; of a workflow the whole run, and not its steps. ``most``
-- executions are looked at, those of workers before runs. Indexes open_executions_leased_idx and
-- task_revisions_targets_idx.
SELECT e.tenant_id, e.task_id, e.id, e.started_at, e.destination, target.seconds
FROM (
    SELECT o.* FROM open_executions o
    WHERE o.status = 'RUNNING' AND o.started_at IS NOT NULL AND o.revision < 1610612736
    ORDER BY o.lease_expires_at LIMIT %(most)s
) AS e
JOIN tasks s ON s.id = e.task_id
LEFT JOIN task_revisions r ON r.task_id = s.id AND r.version = s.version
    AND r.definition ? 'targets'
CROSS JOIN LATERAL (
    SELECT (r.definition #>> '{targets,max_duration_seconds}')::float8 AS seconds
) AS target
WHERE e.started_at
    < %(now)s::timestamptz - least(target.seconds, %(least)s::float8) * interval '1 second'

-- name: waiting_approvals
-- Returns the steps that wait for an approval, the longest first, up to ``most``: their run's
-- workflow and execution. Indexes workflow_waits_approvals_idx and the key of workflow_runs.
SELECT w.tenant_id, r.task_id, r.execution_id, w.began_at, w.run_id::text
FROM (
    SELECT a.* FROM workflow_waits a WHERE a.kind = 'approval'
    ORDER BY a.began_at LIMIT %(most)s
) AS w
JOIN workflow_runs r ON r.id = w.run_id
