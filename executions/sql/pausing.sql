-- name: lock_work
-- Locks all unfinished work of many tasks against dispatch and the recorder until the pause
-- commits, in order of ids; returns the released part, which has to be voided. Steps belong to
-- their run. Index open_executions_of_task_idx.
WITH locked AS (
    SELECT e.id, e.status, e.fencing_token FROM open_executions e
    WHERE e.task_id = ANY(%(tasks)s) AND e.revision < 1610612736
    ORDER BY e.id FOR NO KEY UPDATE
)
SELECT id, fencing_token FROM locked WHERE status = 'QUEUED'

-- name: lock_pausable
-- Locks the tasks that a pause can hold, after their work and in order of ids, as the recorder
-- does; leaves out tasks that were paused, ended or deleted meanwhile. By primary key.
SELECT t.id FROM tasks t
WHERE t.id = ANY(%(tasks)s) AND t.status IN ('SCHEDULED', 'RUNNING') AND t.deleted_at IS NULL
ORDER BY t.id FOR NO KEY UPDATE

-- name: unplan
-- Removes expectations of the schedule that lie ahead, and sets each cursor back before them: the
-- scheduler meets and counts those instants again, so their count is taken back. The rows are
-- locked. Returns how many of each task the gate had let through. Index open_executions_of_task_idx;
-- no such row has an id below that of now.
WITH first AS (
    SELECT e.task_id, min(e.scheduled_for) AS scheduled_for FROM open_executions e
    WHERE e.task_id = ANY(%(tasks)s) AND e.id >= %(ahead)s AND e.status = 'PENDING'
      AND e.attempt = 0 AND e.trigger = 'schedule' AND e.scheduled_for > %(now)s
    GROUP BY e.task_id
), counted AS (
    -- Rows beyond the cursor stayed through an edit and are counted when it meets them.
    SELECT f.task_id, f.scheduled_for, count(*) AS instants
    FROM first f
    LEFT JOIN task_cursors k ON k.task_id = f.task_id
    JOIN executions e ON e.task_id = f.task_id AND e.id >= %(ahead)s
    WHERE e.trigger = 'schedule' AND e.scheduled_for >= f.scheduled_for
      AND (k.next_run_at IS NULL OR e.scheduled_for < k.next_run_at)
    GROUP BY f.task_id, f.scheduled_for
), removed AS (
    DELETE FROM open_executions e
    WHERE e.task_id = ANY(%(tasks)s) AND e.id >= %(ahead)s AND e.status = 'PENDING'
      AND e.attempt = 0 AND e.trigger = 'schedule' AND e.scheduled_for > %(now)s
    RETURNING e.task_id, e.counted OR e.gave_way IS TRUE AS counted
), moved AS (
    UPDATE task_cursors k
    SET next_run_at = least(k.next_run_at, c.scheduled_for), execution_id = NULL,
        occurrence_count = greatest(0, k.occurrence_count - c.instants)
    FROM counted c
    WHERE k.task_id = c.task_id
    RETURNING k.task_id
), come_back AS (
    -- The cursors of one-time tasks were deleted.
    INSERT INTO task_cursors (task_id, tenant_id, partition, next_run_at, occurrence_count, held)
    SELECT t.id, t.tenant_id, t.partition, c.scheduled_for, 0, true
    FROM counted c JOIN tasks t ON t.id = c.task_id
    WHERE NOT EXISTS (SELECT FROM moved m WHERE m.task_id = c.task_id)
)
SELECT r.task_id, count(*) FROM removed r WHERE r.counted GROUP BY r.task_id

-- name: held_tasks
-- Returns up to ``limit`` tasks that a pause holds. Index tasks_of_pause_idx.
SELECT t.id FROM tasks t
WHERE t.pause_id = %(pause)s AND t.status = 'PAUSED'
ORDER BY t.id LIMIT %(limit)s

-- name: lock_held
-- Locks the tasks that the pause still holds, after their work and in order of ids, as the recorder
-- does. By primary key.
SELECT t.id FROM tasks t
WHERE t.id = ANY(%(tasks)s) AND t.pause_id = %(pause)s AND t.status = 'PAUSED'
ORDER BY t.id FOR NO KEY UPDATE

-- name: to_end
-- Returns open pauses whose time is over. Index pauses_to_end_idx.
SELECT p.id, p.tenant_id FROM pauses p
WHERE p.ended_at IS NULL AND p.until <= clock_timestamp()
ORDER BY p.until LIMIT %(limit)s

-- name: to_let_go
-- Returns recently ended pauses that still hold tasks: their end was only begun, or a task went
-- under one in the moment of its end. Pauses are few; index tasks_of_pause_idx.
SELECT p.id, p.tenant_id FROM pauses p
WHERE p.ended_at > now() - interval '1 day'
  AND EXISTS (SELECT 1 FROM tasks t WHERE t.pause_id = p.id AND t.status = 'PAUSED')
ORDER BY p.ended_at LIMIT %(limit)s

-- name: tasks_failing
-- Returns tasks that have failed as often in a row as their limit allows. Index tasks_failing_idx.
SELECT t.id, t.tenant_id FROM tasks t
WHERE t.partition = ANY(%(partitions)s) AND t.status = 'SCHEDULED'
  AND t.pause_after_failures IS NOT NULL AND t.failure_streak >= t.pause_after_failures
  AND t.deleted_at IS NULL
ORDER BY t.id LIMIT %(limit)s

-- name: out_of_step
-- Returns tenants that are suspended without a hold on their work, or have one without being
-- suspended, as a version leaves them that did not know of that. Tenants and open pauses are few.
SELECT t.id FROM tenants t
WHERE (t.suspended_at IS NOT NULL) <> EXISTS (
    SELECT FROM pauses p
    WHERE p.tenant_id = t.id AND p.scope = 'suspension' AND p.ended_at IS NULL)
LIMIT %(limit)s

-- name: lock_tenant
-- Locks a tenant, unless another session suspends or resumes it in this moment; returns whether it
-- is suspended.
SELECT t.suspended_at IS NOT NULL FROM tenants t
WHERE t.id = %(tenant)s FOR NO KEY UPDATE SKIP LOCKED

-- name: lock_tenant_work
-- Locks all unfinished work of a tenant in order of ids before any of its tasks, as the recorder
-- does: otherwise it would wait for later rows with earlier ones locked. Index
-- open_executions_of_tenant_idx.
SELECT e.id FROM open_executions e
WHERE e.tenant_id = %(tenant)s
ORDER BY e.id FOR NO KEY UPDATE

-- name: other_work
-- Returns locked work of a tenant that no pause of a task holds: runs requested while their task
-- was paused or after it had ended, and a backfill's executions of a task that has ended. Also
-- returns the token of released work, which has to be voided.
SELECT e.id, CASE WHEN e.status = 'QUEUED' THEN e.fencing_token END
FROM open_executions e JOIN tasks t ON t.id = e.task_id
WHERE e.id = ANY(%(ids)s)
  AND (NOT e.held OR e.key_place = 0 OR (e.gated AND t.status <> 'PAUSED'))

-- name: hold_other_work
-- Puts locked work on hold for the suspension of its tenant and marks it by the reason, so that
-- only the end of the suspension frees it, and no end of a pause. A backfill's work is taken from
-- the gate, which checks only whether its task is paused. Running work keeps its mark for a retry
-- that may follow.
UPDATE open_executions e
SET held = true, gated = false, parked = false, reason = 'tenant_suspended',
    due_at = CASE
        WHEN e.key_place > 0 AND e.attempt = 0 AND e.status IN ('PENDING', 'RETRYING')
        THEN least(e.due_at, CASE e.trigger WHEN 'schedule' THEN e.scheduled_for ELSE e.created_at END)
        ELSE e.due_at END,
    key_place = CASE WHEN e.key_place = 0 OR e.status IN ('PENDING', 'RETRYING') AND (
                         e.key_place = 1 OR e.key_place = 2 AND e.attempt = 0) THEN -1
                     ELSE e.key_place END
WHERE e.id = ANY(%(ids)s)

-- name: release_suspended_work
-- Frees locked work that only the suspension of its tenant held; work that a backfill had not begun,
-- and a run of a workflow with a limit, waits for the gate again. Steps of a tenant with a limit of
-- steps wait for their place again, unless they have begun.
UPDATE open_executions e
SET reason = CASE WHEN w.beyond THEN 'tenant_limit' ELSE '' END, gated = w.waits,
    held = w.waits OR w.beyond OR coalesce(e.key_place <= 0, false),
    key_place = CASE WHEN e.key_place = -1 THEN 0 ELSE e.key_place END
FROM tasks t CROSS JOIN LATERAL (
    SELECT o.id, (o.series_id IS NOT NULL OR t.limited AND o.pool = 'workflow')
                 AND o.status = 'PENDING' AND NOT o.counted AS waits,
           %(limited)s AND o.step IS NOT NULL AND o.pool <> 'workflow'
                 AND o.status = 'PENDING' AS beyond
    FROM open_executions o
    WHERE o.id = ANY(%(ids)s) AND o.task_id = t.id AND o.held AND o.reason = 'tenant_suspended'
) AS w
WHERE e.id = w.id

-- name: lock_steps
-- Locks open steps of a tenant's workflows in order of ids, with what they call: they belong to
-- their run, which no pause of a task holds. Index open_executions_of_tenant_idx.
SELECT e.id, e.status, e.fencing_token, e.pool, e.destination, e.reason FROM open_executions e
WHERE e.tenant_id = %(tenant)s AND e.revision >= 1610612736
ORDER BY e.id FOR NO KEY UPDATE

-- name: holding
-- Returns what holds steps of these tenants that begin: scope and value of each open pause, and NULL
-- for a suspension. After share_pauses. Index pauses_of_tenant_idx; primary key of tenants.
SELECT p.tenant_id, p.scope, p.value FROM pauses p
WHERE p.tenant_id = ANY(%(tenants)s::uuid[]) AND p.ended_at IS NULL
UNION ALL
SELECT t.id, NULL, NULL FROM tenants t
WHERE t.id = ANY(%(tenants)s::uuid[]) AND t.suspended_at IS NOT NULL

-- name: hold_steps
-- Puts locked steps on hold, because their pool or destination is paused. Running ones continue;
-- their mark holds a retry that may follow.
UPDATE open_executions e SET held = true, parked = false, reason = 'place_paused'
WHERE e.id = ANY(%(ids)s) AND NOT e.held

-- name: free_steps
-- Frees locked steps that only such a pause held. Those of a tenant with a limit of steps wait for
-- their place again, unless they have begun.
UPDATE open_executions e
SET held = w.waits, reason = CASE WHEN w.waits THEN 'tenant_limit' ELSE '' END
FROM open_executions o CROSS JOIN LATERAL (
    SELECT %(limited)s AND o.status = 'PENDING' AS waits
) AS w
WHERE o.id = e.id AND e.id = ANY(%(ids)s) AND e.held AND e.reason = 'place_paused'

-- name: lock_steps_to_hold
-- Locks open steps of a paused run that are not on hold for it, in order of ids: calls, and runs of
-- other workflows that have not begun. Index open_executions_of_run_idx.
SELECT e.id, e.status, e.fencing_token FROM open_executions e
WHERE e.run_id = %(run)s AND e.step IS NOT NULL
  AND (e.revision >= 1610612736 OR e.status = 'PENDING')
  AND NOT (e.held AND e.reason = 'run_paused')
ORDER BY e.id LIMIT %(limit)s FOR NO KEY UPDATE

-- name: hold_steps_of_run
-- Puts locked steps on hold, because their run is paused. Running ones continue; their mark holds a
-- retry that may follow. A run of a workflow with a limit leaves the gate and gives its place back.
-- Returns the workflows of runs that the gate had let through, and how many of each: it decides on
-- them anew.
WITH changed AS (
    UPDATE open_executions e
    SET held = true, gated = false, counted = false, parked = false, reason = 'run_paused',
        key_place = CASE WHEN e.key_place = 0 OR e.status = 'PENDING' AND (
                             e.key_place = 1 OR e.key_place = 2 AND e.attempt = 0) THEN -1
                         ELSE e.key_place END
    WHERE e.id = ANY(%(ids)s)
    RETURNING e.task_id, e.trigger, old.counted
)
SELECT task_id, count(*) FROM changed WHERE counted AND trigger = 'workflow' GROUP BY task_id

-- name: lock_steps_to_free
-- Locks open steps of a run that are on hold for it, in order of ids. Index
-- open_executions_of_run_idx.
SELECT e.id, e.pool, e.destination FROM open_executions e
WHERE e.run_id = %(run)s AND e.step IS NOT NULL AND e.held AND e.reason = 'run_paused'
ORDER BY e.id LIMIT %(limit)s FOR NO KEY UPDATE

-- name: free_steps_of_run
-- Frees locked steps that the pause of their run held; those with another reason stay on hold for
-- that. A run of another workflow waits for its gate, or for the resume of that workflow. Steps of
-- a tenant with a limit of steps wait for their place again, unless they have begun.
UPDATE open_executions e
SET reason = w.reason, gated = w.is_run AND t.limited AND w.reason = '',
    held = w.reason <> '' OR w.is_run AND (t.limited OR t.status = 'PAUSED')
           OR coalesce(e.key_place <= 0, false),
    key_place = CASE WHEN e.key_place = -1 AND w.reason = '' AND t.status <> 'PAUSED' THEN 0
                     ELSE e.key_place END
FROM unnest(%(ids)s::uuid[], %(reasons)s::text[]) AS g (id, reason)
JOIN open_executions o ON o.id = g.id
JOIN tasks t ON t.id = o.task_id
CROSS JOIN LATERAL (
    -- No pause of a place holds such a run, and the suspension of its tenant only where the
    -- workflow itself is not paused for it.
    SELECT o.pool = 'workflow' AS is_run,
           CASE WHEN o.pool = 'workflow' AND (t.status = 'PAUSED' OR g.reason = 'place_paused')
                THEN ''
                WHEN g.reason = '' AND %(limited)s AND o.pool <> 'workflow' AND o.status = 'PENDING'
                THEN 'tenant_limit' ELSE g.reason END AS reason
) AS w
WHERE e.id = g.id
