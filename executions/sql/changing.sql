-- name: lock_open_of_task
-- Locks a task's prepared and released work against dispatch and the recorder until the change
-- commits; not the steps of its runs, which belong to their run: their versions are the steps', as
-- in all statements below. Index open_executions_of_task_idx.
SELECT e.id, e.status, e.fencing_token, e.scheduled_for, e.attempt, e.trigger, e.revision
FROM open_executions e
WHERE e.task_id = %(task)s AND e.revision < 1610612736
ORDER BY e.id FOR NO KEY UPDATE

-- name: remove_prepared
-- Removes prepared rows that the new schedule does not have: expectations of a schedule that no
-- longer exists.
DELETE FROM open_executions e
WHERE e.id = ANY(%(ids)s) AND e.status = 'PENDING'

-- name: remove_excluded
-- Removes instants that a calendar excluded ahead of their time: the scheduler decides on them
-- again, by the calendars as they are now. Index executions_of_task_idx; ids from the moment on
-- bound the days.
DELETE FROM ended_executions e
WHERE e.task_id = %(task)s AND e.id >= %(low)s AND e.status = 'SKIPPED'
  AND e.reason = 'calendar_excluded' AND e.scheduled_for >= %(since)s

-- name: prepared
-- Returns locked work of many tasks that waits for its first attempt, without replays into another
-- place. Index open_executions_of_task_idx.
SELECT e.id FROM open_executions e
WHERE e.task_id = ANY(%(tasks)s) AND e.status = 'PENDING' AND e.attempt = 0
  AND e.revision < %(redirected)s

-- name: adopt_prepared
-- Moves prepared rows that the new schedule also has to the new revision. Executions of a backfill
-- keep a priority of the low band.
UPDATE open_executions e
SET revision = d.revision,
    priority = CASE WHEN e.trigger = 'backfill' THEN greatest(7, d.priority) ELSE d.priority END,
    max_attempts = d.max_attempts,
    timeout_seconds = d.timeout_seconds, pool = d.pool, destination = d.destination,
    parked = false,
    -- It waited for the former destination.
    reason = CASE WHEN e.reason IN ('circuit_open', 'destination_rate', 'destination_in_flight')
                  THEN '' ELSE e.reason END
FROM unnest(
    %(tasks)s::uuid[], %(revisions)s::int[], %(priorities)s::smallint[],
    %(max_attempts)s::smallint[], %(timeouts)s::float8[], %(pools)s::text[],
    %(destinations)s::text[]
) AS d (task_id, revision, priority, max_attempts, timeout_seconds, pool, destination)
WHERE e.id = ANY(%(ids)s) AND e.status = 'PENDING' AND e.task_id = d.task_id

-- name: gate_prepared
-- Makes prepared instants of the schedule wait for the gate exactly when the new definition has a
-- policy or a limit. Instants of a paused task that leave the gate stay on hold.
UPDATE open_executions e
SET gated = t.limited, held = t.limited OR t.status = 'PAUSED', counted = false
FROM tasks t
WHERE e.id = ANY(%(ids)s) AND e.status = 'PENDING'
  AND e.trigger = 'schedule' AND t.id = e.task_id AND e.gated <> t.limited

-- name: count_open
-- Makes work under way take a place of a task that has got a policy or a limit, for any trigger. A
-- bulk job has places of its own, and a replay into another place takes none, nor does a run that
-- waits for the run above it. Index open_executions_of_task_idx.
UPDATE open_executions e SET counted = true
FROM tasks t
WHERE t.id = ANY(%(tasks)s) AND e.task_id = t.id
  AND NOT e.gated AND NOT e.counted AND e.series_id IS NULL
  AND NOT (e.held AND e.reason = 'run_paused')
  AND e.revision < %(redirected)s
  AND t.limited

-- name: unstarted
-- Returns work of many tasks that has not started; the caller has locked it and withdrawn its
-- released part. Index open_executions_of_task_idx.
SELECT e.id, e.fencing_token FROM open_executions e
WHERE e.task_id = ANY(%(tasks)s) AND e.status IN ('PENDING', 'RETRYING')
  AND e.revision < 1610612736

-- name: hold
-- Puts work of paused tasks on hold, so that it is not dispatched, or frees it. Running work
-- continues; its mark holds a retry that may follow. Gated work stays on hold, and so does a run
-- that a step of a paused run has asked for.
UPDATE open_executions e SET held = %(held)s OR e.gated OR e.held AND e.reason = 'run_paused'
WHERE e.task_id = ANY(%(tasks)s) AND e.revision < 1610612736

-- name: insert_manual
-- Inserts an execution outside the schedule: run now, retry. It does not wait for the gate, but
-- takes a place of a task that has a policy or a limit. A replay into another place names what its
-- version says of pool, destination, attempts and timeout, and takes no place. A run of a workflow
-- waits for its place at the gate.
WITH made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds, incarnation,
        worker, held, gated, counted, error_code, error_message, sealed_payload, parent_id,
        trace_context, created_at
    )
    SELECT %(id)s, t.tenant_id, t.id, t.partition, t.priority,
           coalesce(%(pool)s::text, t.pool), coalesce(%(destination)s::text, t.destination),
           coalesce(%(version)s::int, t.version), 'PENDING', '', %(trigger)s, %(scheduled_for)s,
           now(), 0, coalesce(%(max_attempts)s::smallint, t.max_attempts), 0,
           coalesce(%(timeout_seconds)s::float8, t.timeout_seconds), '', '',
           t.limited AND t.pool = 'workflow', t.limited AND t.pool = 'workflow',
           %(version)s::int IS NULL AND t.limited AND t.pool <> 'workflow', '', '',
           %(sealed_payload)s, %(parent)s, %(trace)s, now()
    FROM tasks t
    WHERE t.id = %(task)s
    RETURNING id, tenant_id, task_id
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.materialized', array_agg(id), array_agg(task_id)
    FROM made GROUP BY tenant_id
)
SELECT id FROM made
