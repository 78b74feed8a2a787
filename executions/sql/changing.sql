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
-- longer exists. Returns how many of each task the gate had let through.
WITH removed AS (
    DELETE FROM open_executions e
    WHERE e.id = ANY(%(ids)s) AND e.status = 'PENDING'
    RETURNING e.task_id, e.counted OR e.gave_way IS TRUE AS counted
)
SELECT task_id, count(*) FROM removed WHERE counted GROUP BY task_id

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
    -- It waited for the former destination. A run that waits for the limit of its tenant is on hold
    -- for that, and goes on waiting.
    reason = CASE WHEN e.reason IN ('circuit_open', 'destination_rate', 'destination_in_flight')
                    OR e.reason = 'tenant_limit' AND NOT (e.held AND e.pool = 'workflow')
                  THEN '' ELSE e.reason END
FROM unnest(
    %(tasks)s::uuid[], %(revisions)s::int[], %(priorities)s::smallint[],
    %(max_attempts)s::smallint[], %(timeouts)s::float8[], %(pools)s::text[],
    %(destinations)s::text[]
) AS d (task_id, revision, priority, max_attempts, timeout_seconds, pool, destination)
WHERE e.id = ANY(%(ids)s) AND e.status = 'PENDING' AND e.task_id = d.task_id

-- name: gate_prepared
-- Makes prepared instants of the schedule wait for the gate exactly when the new definition has a
-- policy, a limit or a budget. Instants of a paused task that leave the gate stay on hold; ones that
-- waited for the limit of their tenant wait for the gate first, and then for their key. What waits at
-- the gate has no place of its key: work that the gate waits for may need it. Returns the tasks of the changed rows, and
-- how many of each had been let through before.
WITH changed AS (
    UPDATE open_executions e
    SET gated = t.limited, counted = false, gave_way = NULL,
        held = t.limited OR t.status = 'PAUSED' OR coalesce(e.key_place <= 0, false),
        reason = CASE WHEN e.reason = 'tenant_limit' THEN '' ELSE e.reason END,
        due_at = CASE WHEN e.key_place > 0 AND t.limited THEN least(e.due_at, e.scheduled_for)
                      ELSE e.due_at END,
        key_place = CASE WHEN e.key_place IS NULL THEN NULL
                         WHEN t.status = 'PAUSED' THEN -1
                         WHEN t.limited AND (e.key_place > 0 OR e.held AND e.reason = 'tenant_limit')
                         THEN 0 ELSE e.key_place END
    FROM tasks t
    WHERE e.id = ANY(%(ids)s) AND e.status = 'PENDING'
      AND e.trigger = 'schedule' AND t.id = e.task_id AND e.gated <> t.limited
    RETURNING e.task_id, old.counted OR old.gave_way IS TRUE AS counted
)
SELECT task_id, count(*) FILTER (WHERE counted) FROM changed GROUP BY task_id

-- name: key_prepared
-- Makes prepared work wait for a place of the key that the new definition has,
-- or for none. Work that a pause holds stays on hold, outside of the line, and so does a run that
-- waits for the limit of its tenant. Work that was given a place and has not begun
-- gives it back; work under way keeps its key to its end, and so does a run that a step has asked for:
-- it must not wait for a place that a run above it has.
UPDATE open_executions e
SET concurrency_key = t.concurrency_key,
    key_place = CASE WHEN t.concurrency_key IS NOT NULL THEN -w.elsewhere::integer END,
    held = t.concurrency_key IS NOT NULL OR e.gated OR w.elsewhere
FROM open_executions o
JOIN tasks t ON t.id = o.task_id
CROSS JOIN LATERAL (
    SELECT o.held AND o.reason = 'tenant_limit'
           OR coalesce(o.key_place = -1, o.held AND NOT o.gated) AS elsewhere
) AS w
WHERE o.id = ANY(%(ids)s) AND o.status = 'PENDING' AND o.revision < %(redirected)s
  AND o.concurrency_key IS DISTINCT FROM t.concurrency_key AND o.step IS NULL AND e.id = o.id

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
-- that a step of a paused run has asked for, or that waits for the limit of its tenant. Work that
-- has not begun gives back its key's place: the pause of one task delays no other task of the key.
-- Nor does a retry, unless the key is in strict order. A first attempt that had waited for the place
-- is again due when it was, before later ones.
UPDATE open_executions e
SET held = %(held)s OR e.gated OR coalesce(e.key_place <= 0, false)
           OR e.held AND (e.reason = 'run_paused'
                          OR e.reason = 'tenant_limit' AND e.status = 'PENDING'
                             AND (e.pool = 'workflow' OR e.step IS NOT NULL)),
    -- A start that its tenant's limit refused left that reason without a hold: a later hold is not
    -- for the limit, and must not end with it.
    reason = CASE WHEN e.reason = 'tenant_limit' AND NOT e.held THEN '' ELSE e.reason END,
    due_at = CASE
        WHEN %(held)s AND e.key_place > 0 AND e.attempt = 0 AND e.status IN ('PENDING', 'RETRYING')
        THEN least(e.due_at, CASE e.trigger WHEN 'schedule' THEN e.scheduled_for ELSE e.created_at END)
        ELSE e.due_at END,
    key_place = CASE
        WHEN %(held)s AND (e.key_place = 0 OR e.status IN ('PENDING', 'RETRYING') AND (
            e.key_place = 1 OR e.key_place = 2 AND e.attempt = 0)) THEN -1
        WHEN NOT %(held)s AND e.key_place = -1 AND e.reason <> 'run_paused'
             AND NOT (e.held AND e.reason = 'tenant_limit' AND e.status = 'PENDING'
                      AND e.pool = 'workflow') THEN 0
        ELSE e.key_place END
WHERE e.task_id = ANY(%(tasks)s) AND e.revision < 1610612736

-- name: insert_manual
-- Inserts an execution outside the schedule: run now, retry. It does not wait for the gate, but
-- takes a place of a task that has a policy or a limit. A replay into another place names what its
-- version says of pool, destination, attempts and timeout, and takes no place. A run of a workflow
-- waits for its place at the gate, and work of a task with a key for a place of the key.
WITH made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds, incarnation,
        worker, held, gated, counted, error_code, error_message, sealed_payload, parent_id,
        trace_context, created_at, concurrency_key, key_place
    )
    SELECT %(id)s, t.tenant_id, t.id, t.partition, t.priority,
           coalesce(%(pool)s::text, t.pool), coalesce(%(destination)s::text, t.destination),
           coalesce(%(version)s::int, t.version), 'PENDING', '', %(trigger)s, %(scheduled_for)s,
           now(), 0, coalesce(%(max_attempts)s::smallint, t.max_attempts), 0,
           coalesce(%(timeout_seconds)s::float8, t.timeout_seconds), '', '',
           k.key IS NOT NULL OR t.limited AND t.pool = 'workflow',
           t.limited AND t.pool = 'workflow',
           %(version)s::int IS NULL AND t.limited AND t.pool <> 'workflow', '', '',
           %(sealed_payload)s, %(parent)s, %(trace)s, now(), k.key,
           CASE WHEN k.key IS NOT NULL THEN 0 END
    FROM tasks t
    CROSS JOIN LATERAL (
        SELECT CASE WHEN %(version)s::int IS NULL THEN t.concurrency_key END AS key
    ) AS k
    WHERE t.id = %(task)s
    RETURNING id, tenant_id, task_id
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.materialized', array_agg(id), array_agg(task_id)
    FROM made GROUP BY tenant_id
)
SELECT id FROM made
