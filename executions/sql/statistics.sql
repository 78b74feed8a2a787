-- part: counted
-- Adds the totals of a batch for metrics, as totals/add does.
counted AS (
    INSERT INTO metric_totals (series, counts)
    SELECT %(series)s::text[], %(counts)s::bigint[] WHERE %(series)s::text[] <> '{}'
)

-- part: spent
-- Adds what a batch spent of error budgets, by new rows; most batches spend nothing.
spent AS (
    INSERT INTO objective_counts (
        tenant_id, at, objective, band, cause, counted, bad, execution_id)
    SELECT p.tenant_id, p.at, p.objective, p.band, p.cause, 0, p.bad, p.execution_id
    FROM unnest(
        %(spent_by)s::uuid[], %(spent_at)s::timestamptz[], %(spent_of)s::text[],
        %(spent_bands)s::bigint[], %(spent_causes)s::text[], %(spent)s::bigint[],
        %(spent_examples)s::uuid[]
    ) AS p (tenant_id, at, objective, band, cause, bad, execution_id)
)

-- name: add_to_minutes
-- Adds a batch's counts to the minutes of its tenants. In order of the primary key, which prevents
-- the deadlock of two recorders that share minutes. Adds its totals for metrics and what it spent of
-- error budgets: statements of their own would cost a batch other round trips.
WITH -- parts: counted, spent
added AS (
    SELECT * FROM unnest(
        %(tenants)s::uuid[], %(minutes)s::timestamptz[], %(succeeded)s::integer[],
        %(failed)s::integer[], %(retried)s::integer[], %(cancelled)s::integer[],
        %(late)s::integer[], %(delays)s::text[], %(steps_succeeded)s::integer[],
        %(steps_failed)s::integer[], %(runs_succeeded)s::integer[], %(runs_failed)s::integer[],
        %(started)s::integer[], %(attempts)s::integer[], %(milliseconds)s::bigint[],
        %(recorded_bytes)s::bigint[], %(by_band)s::text[]
    ) AS s (tenant_id, minute, succeeded, failed, retried, cancelled, late, delays, steps_succeeded,
            steps_failed, runs_succeeded, runs_failed, started, attempts, milliseconds,
            recorded_bytes, by_band)
)
INSERT INTO minute_stats AS kept (
    tenant_id, minute, succeeded, failed, retried, cancelled, late, start_delays, steps_succeeded,
    steps_failed, runs_succeeded, runs_failed, started, attempts, execution_ms, recorded_bytes,
    by_band
)
SELECT s.tenant_id, s.minute, s.succeeded, s.failed, s.retried, s.cancelled, s.late,
       s.delays::integer[], s.steps_succeeded, s.steps_failed, s.runs_succeeded, s.runs_failed,
       s.started, s.attempts, s.milliseconds, s.recorded_bytes, s.by_band::integer[]
FROM added s
ORDER BY s.tenant_id, s.minute
ON CONFLICT (tenant_id, minute) DO UPDATE
SET succeeded = kept.succeeded + EXCLUDED.succeeded,
    failed = kept.failed + EXCLUDED.failed,
    retried = kept.retried + EXCLUDED.retried,
    cancelled = kept.cancelled + EXCLUDED.cancelled,
    late = kept.late + EXCLUDED.late,
    steps_succeeded = kept.steps_succeeded + EXCLUDED.steps_succeeded,
    steps_failed = kept.steps_failed + EXCLUDED.steps_failed,
    runs_succeeded = kept.runs_succeeded + EXCLUDED.runs_succeeded,
    runs_failed = kept.runs_failed + EXCLUDED.runs_failed,
    started = kept.started + EXCLUDED.started,
    attempts = kept.attempts + EXCLUDED.attempts,
    execution_ms = kept.execution_ms + EXCLUDED.execution_ms,
    recorded_bytes = kept.recorded_bytes + EXCLUDED.recorded_bytes,
    start_delays = ARRAY(
        SELECT coalesce(a, 0) + coalesce(b, 0)
        FROM unnest(kept.start_delays, EXCLUDED.start_delays) WITH ORDINALITY AS z (a, b, n)
        ORDER BY n),
    by_band = ARRAY(
        SELECT coalesce(a, 0) + coalesce(b, 0)
        FROM unnest(kept.by_band, EXCLUDED.by_band) WITH ORDINALITY AS z (a, b, n) ORDER BY n)

-- name: open_work
-- Counts a tenant's open work at this moment: due, late (queued work too), queued, running,
-- RETRYING (work on hold too), and returns the seconds that the oldest due work has waited. Of each
-- kind it reads a limited number of rows of all tenants; the last column is whether those were all.
-- Work that waits for its destination is due. Indexes open_executions_due_idx,
-- open_executions_parked_idx, open_executions_held_idx and open_executions_leased_idx.
WITH due AS MATERIALIZED (
    SELECT e.tenant_id, e.status, e.due_at FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING')
      AND NOT e.held AND NOT e.parked
      AND e.priority = ANY('{0,1,2,3,4,5,6,7,8,9}'::smallint[]) AND e.due_at <= now()
    LIMIT %(scan)s
), parked AS MATERIALIZED (
    SELECT e.tenant_id, e.status, e.due_at FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING')
      AND NOT e.held AND e.parked AND e.tenant_id = %(tenant)s
    LIMIT %(scan)s
), coming AS MATERIALIZED (
    SELECT e.tenant_id, e.status FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING')
      AND NOT e.held AND NOT e.parked
      AND e.priority = ANY('{0,1,2,3,4,5,6,7,8,9}'::smallint[]) AND e.due_at > now()
    LIMIT %(scan)s
), held AS MATERIALIZED (
    SELECT e.tenant_id, e.status FROM open_executions e
    WHERE e.status IN ('PENDING', 'RETRYING')
      AND e.held
    LIMIT %(scan)s
), leased AS MATERIALIZED (
    SELECT e.tenant_id, e.status, e.due_at FROM open_executions e
    WHERE e.status IN ('QUEUED', 'RUNNING')
    LIMIT %(scan)s
), unstarted AS (
    SELECT due_at FROM due WHERE tenant_id = %(tenant)s
    UNION ALL
    SELECT due_at FROM parked WHERE due_at <= now()
    UNION ALL
    SELECT due_at FROM leased
    WHERE tenant_id = %(tenant)s AND status = 'QUEUED' AND due_at <= now()
)
SELECT (SELECT count(*) FROM due WHERE tenant_id = %(tenant)s)
       + (SELECT count(*) FROM parked WHERE due_at <= now()),
       (SELECT count(*) FROM unstarted WHERE due_at <= now() - %(late)s * interval '1 second'),
       (SELECT count(*) FROM leased WHERE tenant_id = %(tenant)s AND status = 'QUEUED'),
       (SELECT count(*) FROM leased WHERE tenant_id = %(tenant)s AND status = 'RUNNING'),
       (SELECT count(*) FROM due WHERE tenant_id = %(tenant)s AND status = 'RETRYING')
       + (SELECT count(*) FROM coming WHERE tenant_id = %(tenant)s AND status = 'RETRYING')
       + (SELECT count(*) FROM parked WHERE status = 'RETRYING')
       + (SELECT count(*) FROM held WHERE tenant_id = %(tenant)s AND status = 'RETRYING'),
       (SELECT extract(epoch FROM now() - min(due_at))::float8 FROM unstarted),
       greatest((SELECT count(*) FROM due), (SELECT count(*) FROM coming),
                (SELECT count(*) FROM parked), (SELECT count(*) FROM held),
                (SELECT count(*) FROM leased)) < %(scan)s

-- name: running_now
-- Returns a tenant's running executions, the longest first. Index open_executions_leased_idx; reads
-- as many rows as all workers have in hand.
SELECT r.id, r.task_id, t.name, r.started_at, extract(epoch FROM now() - r.started_at)::float8,
       r.timeout_seconds, r.attempt, r.max_attempts, r.worker, r.cancel_requested_at IS NOT NULL
FROM (
    SELECT e.* FROM open_executions e
    WHERE e.status = 'RUNNING'
      AND e.tenant_id = %(tenant)s
    ORDER BY e.started_at, e.id LIMIT %(limit)s
) AS r
LEFT JOIN tasks t ON t.id = r.task_id
ORDER BY r.started_at, r.id

-- name: next_of_tasks
-- Returns the soonest coming instants of a tenant's tasks that are not in the ledger yet, one per
-- task. Leaves out an instant that has passed and waits for its scheduler, and tasks with
-- calendars: they are read one by one, because a calendar may exclude their next instant. Index
-- task_cursors_of_tenant_idx, in its order: the planner assumes that few tasks have no calendar.
SELECT t.id, t.name, k.next_run_at, t.type, t.schedule, t.created_at
FROM task_cursors k
CROSS JOIN LATERAL (
    SELECT t.* FROM tasks t
    WHERE t.id = k.task_id AND t.status = 'SCHEDULED' AND t.deleted_at IS NULL
      AND coalesce(t.schedule -> 'calendars', '[]'::jsonb) = '[]'::jsonb
    OFFSET 0
) AS t
WHERE k.tenant_id = %(tenant)s AND NOT k.held AND k.next_run_at >= now()
ORDER BY k.next_run_at, k.task_id LIMIT %(limit)s

-- name: next_prepared
-- Returns the soonest instants of a tenant that are in the ledger and have not come. Instants ahead
-- come by index executions_of_tenant_idx from now on. Past instants that wait for their share of a
-- jitter come from the first of all tenants by index open_executions_due_idx, and with a worker by
-- index open_executions_leased_idx.
WITH ahead AS (
    SELECT e.id, e.task_id, e.scheduled_for, e.due_at FROM open_executions e
    WHERE e.tenant_id = %(tenant)s AND e.id >= %(now)s
      AND e.status IN ('PENDING', 'QUEUED') AND (NOT e.held OR e.gated OR e.key_place = 0)
      AND e.due_at > %(moment)s
    ORDER BY e.id LIMIT %(limit)s
), spread AS (
    SELECT first.id, first.task_id, first.scheduled_for, first.due_at
    FROM generate_series(0, 9) AS p
    CROSS JOIN LATERAL (
        SELECT e.* FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING')
          AND NOT e.held AND NOT e.parked AND e.priority = p::smallint
          AND e.due_at > %(moment)s
        ORDER BY e.due_at LIMIT %(scan)s
    ) AS first
    WHERE first.tenant_id = %(tenant)s AND first.id < %(now)s AND first.trigger = 'schedule'
      AND first.attempt = 0
), handed AS (
    SELECT e.id, e.task_id, e.scheduled_for, e.due_at FROM open_executions e
    WHERE e.id < %(now)s AND e.status = 'QUEUED'
      AND e.tenant_id = %(tenant)s AND e.trigger = 'schedule' AND e.attempt = 0
      AND e.due_at > %(moment)s
)
SELECT p.task_id, t.name, p.scheduled_for, p.due_at, p.id
FROM (SELECT * FROM ahead UNION ALL SELECT * FROM spread UNION ALL SELECT * FROM handed) AS p
JOIN tasks t ON t.id = p.task_id
ORDER BY p.due_at, p.id LIMIT %(limit)s

-- name: latest_runs
-- Returns the latest executions of each of some tasks, oldest first. Index executions_of_task_idx,
-- as many rows as are asked for; ids are bounded.
SELECT e.task_id, e.id, e.status, e.scheduled_for, e.started_at, e.finished_at, e.start_delay_ms
FROM unnest(%(tasks)s::uuid[]) AS t (id)
CROSS JOIN LATERAL (
    SELECT x.* FROM executions x
    WHERE x.task_id = t.id AND x.tenant_id = %(tenant)s AND x.id >= %(low)s AND x.id < %(high)s
      AND x.span_count IS NULL
    ORDER BY x.id DESC LIMIT %(limit)s
) AS e
ORDER BY e.task_id, e.id

-- name: letters_by_hour
-- Counts the dead letters of each cause that a tenant got in each hour, from now backwards (0 is
-- the last hour), among its newest ones. Index dead_letters_open_idx.
SELECT l.error_signature, floor(extract(epoch FROM now() - l.created_at) / 3600)::integer,
       count(*)
FROM unnest(ARRAY[false, true]) AS r (resolved)
CROSS JOIN LATERAL (
    SELECT d.error_signature, d.created_at FROM dead_letters d
    WHERE d.tenant_id = %(tenant)s AND d.resolved = r.resolved AND d.id >= %(low)s
    ORDER BY d.id DESC LIMIT %(scan)s
) AS l
WHERE l.error_signature = ANY(%(signatures)s)
GROUP BY 1, 2
