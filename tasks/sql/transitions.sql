-- name: begin
-- After lock_one_time_tasks: sets one-time tasks whose execution is under way to RUNNING.
UPDATE tasks t SET status = 'RUNNING'
WHERE t.id = ANY(%(task_ids)s) AND NOT EXISTS (
      SELECT 1 FROM task_cursors k WHERE k.task_id = t.id AND k.next_run_at IS NOT NULL)

-- name: settle
-- After lock_tasks: notes the last execution of each one-time task, and ends it with that
-- execution's result. Each task is given once, with the failures since its last success. Tasks that
-- wait for one of them are to be judged.
WITH ended AS MATERIALIZED (
    SELECT e.*, EXISTS (
        SELECT 1 FROM task_cursors k WHERE k.task_id = e.task_id AND k.next_run_at IS NOT NULL
    ) AS ahead
    FROM unnest(
        %(task_ids)s::uuid[], %(ids)s::uuid[], %(statuses)s::text[], %(triggers)s::text[],
        %(succeeded_at)s::timestamptz[], %(streaks)s::integer[]
    ) AS e (task_id, execution_id, status, trigger, succeeded_at, streak)
), told AS (
    -- As dependencies/tell.
    UPDATE task_dependencies d SET look_at = clock_timestamp()
    FROM (
        SELECT l.prerequisite_id, l.task_id FROM task_dependencies l
        WHERE l.prerequisite_id = ANY(ARRAY(SELECT task_id FROM ended WHERE status <> 'RETRYING'))
          AND (l.look_at IS NULL OR l.look_at > clock_timestamp())
        ORDER BY l.prerequisite_id, l.task_id FOR UPDATE
    ) AS o
    WHERE d.prerequisite_id = o.prerequisite_id AND d.task_id = o.task_id
)
UPDATE tasks t
SET last_execution_id = s.execution_id, last_execution_status = s.status,
    last_execution_at = now(), last_success_at = greatest(t.last_success_at, s.succeeded_at),
    failure_streak = s.streak
        + CASE WHEN s.succeeded_at IS NULL THEN t.failure_streak ELSE 0 END,
    status = CASE
        WHEN t.status = 'FAILED' AND s.trigger = 'retry' AND s.status = 'SUCCEEDED'
            THEN 'COMPLETED'
        WHEN t.status NOT IN ('SCHEDULED', 'RUNNING') OR s.ahead
             OR s.status = 'RETRYING' OR s.trigger NOT IN ('schedule', 'retry') THEN t.status
        WHEN s.status = 'SUCCEEDED' THEN 'COMPLETED'
        WHEN s.status = 'CANCELLED' THEN 'CANCELLED'
        ELSE 'FAILED' END
FROM ended s
WHERE t.id = s.task_id AND t.id = ANY(%(task_ids)s::uuid[])

-- name: count_failures
-- Writes a recurring task only where its number of failures in a row changes. By primary key: its
-- own reading of a task keeps the planner from joining all of them.
UPDATE tasks t SET failure_streak = n.streak
FROM (
    SELECT e.task_id, e.streak + CASE WHEN e.succeeded_at IS NULL
                                      THEN b.failure_streak ELSE 0 END AS streak
    FROM unnest(%(task_ids)s::uuid[], %(succeeded_at)s::timestamptz[], %(streaks)s::integer[])
        AS e (task_id, succeeded_at, streak)
    CROSS JOIN LATERAL (
        SELECT b.failure_streak FROM tasks b WHERE b.id = e.task_id OFFSET 0
    ) AS b
) AS n
WHERE t.id = n.task_id AND t.id = ANY(%(task_ids)s::uuid[]) AND t.failure_streak <> n.streak

-- name: complete
-- Ends tasks whose last instant was skipped, or has ended: their schedule has nothing left to run.
-- A task that runs only when asked does not end by itself. A replay into another place does not count. By primary key.
UPDATE tasks t SET status = 'COMPLETED'
WHERE t.id = ANY(%(task_ids)s) AND t.status IN ('SCHEDULED', 'RUNNING') AND t.type <> 'MANUAL'
  AND NOT EXISTS (
      SELECT 1 FROM task_cursors k WHERE k.task_id = t.id AND k.next_run_at IS NOT NULL)
  AND NOT EXISTS (
      SELECT 1 FROM open_executions e
      WHERE e.task_id = t.id AND e.trigger IN ('schedule', 'retry')
        AND e.revision < %(redirected)s)

-- name: pause
-- Puts locked tasks under a standing pause, or pauses each by itself where none is given; a task
-- that is paused keeps its paused_at. By primary key.
WITH held AS (
    UPDATE task_cursors k SET held = true WHERE k.task_id = ANY(%(tasks)s)
)
UPDATE tasks t
SET status = 'PAUSED',
    paused_at = CASE WHEN t.status = 'PAUSED' THEN t.paused_at ELSE %(now)s END,
    paused_until = %(until)s::timestamptz, pause_note = %(note)s,
    on_resume = %(on_resume)s, pause_id = %(pause)s, updated_at = %(now)s
WHERE t.id = ANY(%(tasks)s)

-- name: hand_over
-- Moves locked tasks from an ended pause to another one that is open. By primary key.
UPDATE tasks t
SET pause_note = %(note)s, on_resume = %(on_resume)s, pause_id = %(pause)s, updated_at = %(now)s
WHERE t.id = ANY(%(tasks)s)

-- name: pause_unreadable
-- Pauses waiting tasks whose stored schedule cannot be read, so that they do not block their
-- partition. It writes an event and no audit entry: the scheduler must not wait for the audit
-- chain of a tenant with the tasks of a whole pass locked. By primary key.
WITH paused AS (
    UPDATE tasks t SET status = 'PAUSED', paused_at = now(), paused_until = NULL,
           pause_note = %(note)s
    WHERE t.id = ANY(%(tasks)s) AND t.status = 'SCHEDULED'
    RETURNING t.id, t.tenant_id
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT tenant_id, 'task.changed', id, id FROM paused
)
UPDATE task_cursors k SET held = true WHERE k.task_id = ANY(ARRAY(SELECT id FROM paused))

-- name: resume
-- Resumes locked tasks of a pause that has ended; on_resume, which stays, decides about the
-- instants that fell into it, from the cursor to now. A task that waits for others stays on hold.
-- By primary key.
WITH let_go AS (
    UPDATE task_cursors k SET execution_id = NULL,
        held = EXISTS (SELECT FROM task_dependencies d WHERE d.task_id = k.task_id)
    WHERE k.task_id = ANY(%(tasks)s)
)
UPDATE tasks t
SET status = 'SCHEDULED', resumed_at = %(now)s, paused_at = NULL, paused_until = NULL,
    pause_id = NULL, updated_at = %(now)s
WHERE t.id = ANY(%(tasks)s)

-- name: settle_resumed
-- Sets the state of resumed tasks that have no instant ahead, by their unfinished work or else by
-- their last execution, whose end the recorder does not write to a paused task. Replays into
-- another place do not count.
UPDATE tasks t
SET status = CASE
    WHEN EXISTS (
        SELECT 1 FROM open_executions e
        WHERE e.task_id = t.id AND e.trigger IN ('schedule', 'retry')
          AND e.revision < %(redirected)s)
    THEN CASE WHEN t.type = 'ONE_TIME' AND EXISTS (
             SELECT 1 FROM open_executions e
             WHERE e.task_id = t.id AND e.attempt > 0
               AND e.revision < %(redirected)s
               AND e.trigger IN ('schedule', 'retry'))
         THEN 'RUNNING' ELSE t.status END
    WHEN t.type = 'RECURRING' THEN 'COMPLETED'
    ELSE coalesce((
        SELECT CASE e.status WHEN 'SUCCEEDED' THEN 'COMPLETED' WHEN 'CANCELLED' THEN 'CANCELLED'
                             ELSE 'FAILED' END
        FROM ended_executions e
        WHERE e.task_id = t.id AND e.trigger IN ('schedule', 'retry')
          AND e.revision < %(redirected)s
        ORDER BY e.id DESC LIMIT 1), 'COMPLETED') END
WHERE t.id = ANY(%(tasks)s) AND t.status = 'SCHEDULED' AND t.type <> 'MANUAL' AND NOT EXISTS (
    SELECT 1 FROM task_cursors k WHERE k.task_id = t.id AND k.next_run_at IS NOT NULL)

-- name: forget_failures
-- Starts the failure count of locked tasks anew, as people resume them. By primary key.
UPDATE tasks t SET failure_streak = 0
WHERE t.id = ANY(%(tasks)s) AND t.failure_streak <> 0

-- name: cancel
-- Ends the future of locked tasks. By primary key.
WITH ended AS (
    UPDATE tasks t
    SET status = 'CANCELLED', paused_at = NULL, paused_until = NULL, pause_id = NULL,
        updated_at = %(now)s
    WHERE t.id = ANY(%(tasks)s)
    RETURNING t.id, t.type
), stopped AS (
    UPDATE task_cursors k SET next_run_at = NULL, held = true
    WHERE k.task_id = ANY(ARRAY(SELECT id FROM ended WHERE type <> 'ONE_TIME'))
)
DELETE FROM task_cursors k
WHERE k.task_id = ANY(ARRAY(SELECT id FROM ended WHERE type = 'ONE_TIME'))

-- name: delete
-- Takes locked tasks out of every list. By primary key.
UPDATE tasks t SET deleted_at = %(now)s
WHERE t.id = ANY(%(tasks)s)
