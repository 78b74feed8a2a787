-- name: lock_open_of_task
-- A task's prepared and released work, locked against dispatch and the recorder until the
-- change commits. Index executions_of_task_idx; the floor bounds the days.
SELECT e.id, e.status, e.fencing_token, e.scheduled_for, e.attempt, e.trigger
FROM executions e
WHERE e.task_id = %(task)s AND e.id >= %(low)s
  AND e.status IN ('PENDING', 'RETRYING', 'QUEUED', 'RUNNING')
ORDER BY e.id FOR NO KEY UPDATE

-- name: remove_prepared
-- Prepared rows that the new schedule does not have: expectations of a schedule that no longer
-- is, so they leave the ledger.
DELETE FROM executions e
WHERE e.id = ANY(%(ids)s) AND e.id >= %(low)s AND e.id <= %(high)s AND e.status = 'PENDING'

-- name: adopt_prepared
-- Prepared rows that the new schedule also has run under the new revision.
UPDATE executions e
SET revision = %(revision)s,
    band = CASE WHEN %(priority)s <= 2 THEN 0 WHEN %(priority)s <= 6 THEN 1 ELSE 2 END,
    max_attempts = %(max_attempts)s,
    timeout_seconds = %(timeout_seconds)s
WHERE e.id = ANY(%(ids)s) AND e.id >= %(low)s AND e.id <= %(high)s AND e.status = 'PENDING'

-- name: hold
-- Keeps work of a paused task from being dispatched, or lets it go again. What runs goes on; its
-- mark holds the retry that it may come to.
UPDATE executions e SET held = %(held)s
WHERE e.task_id = %(task)s AND e.id >= %(low)s
  AND e.status IN ('PENDING', 'RETRYING', 'QUEUED', 'RUNNING')

-- name: settle_resumed
-- The state of a resumed task that has no instant ahead: what its unfinished work or else its
-- last execution says, which the recorder does not write to a paused task.
UPDATE tasks t
SET status = CASE
    WHEN EXISTS (
        SELECT 1 FROM executions e
        WHERE e.task_id = t.id AND e.id >= %(low)s
          AND e.status IN ('PENDING', 'QUEUED', 'RUNNING', 'RETRYING'))
    THEN CASE WHEN t.type = 'ONE_TIME' AND EXISTS (
             SELECT 1 FROM executions e
             WHERE e.task_id = t.id AND e.id >= %(low)s AND e.attempt > 0
               AND e.status IN ('PENDING', 'QUEUED', 'RUNNING', 'RETRYING'))
         THEN 'RUNNING' ELSE t.status END
    WHEN t.type = 'RECURRING' THEN 'COMPLETED'
    ELSE coalesce((
        SELECT CASE e.status WHEN 'SUCCEEDED' THEN 'COMPLETED' WHEN 'CANCELLED' THEN 'CANCELLED'
                             ELSE 'FAILED' END
        FROM executions e
        WHERE e.task_id = t.id AND e.trigger IN ('schedule', 'retry')
        ORDER BY e.id DESC LIMIT 1), 'COMPLETED') END
WHERE t.id = %(task)s AND t.status = 'SCHEDULED' AND t.next_run_at IS NULL

-- name: insert_manual
-- An execution outside the schedule: run now, retry, backfill.
WITH made AS (
    INSERT INTO executions (
        id, tenant_id, task_id, partition, band, pool, revision, status, reason, trigger,
        scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds, incarnation,
        worker, held, error_code, error_message, sealed_payload, parent_id, created_at
    )
    SELECT %(id)s, t.tenant_id, t.id, t.partition,
           CASE WHEN t.priority <= 2 THEN 0 WHEN t.priority <= 6 THEN 1 ELSE 2 END,
           'default', r.version, 'PENDING', '', %(trigger)s, %(scheduled_for)s, now(), 0,
           (r.definition -> 'retry_policy' ->> 'max_attempts')::smallint, 0,
           (r.definition -> 'target' ->> 'timeout_seconds')::float8, '', '', false, '', '',
           %(sealed_payload)s, %(parent)s, now()
    FROM tasks t JOIN task_revisions r ON r.task_id = t.id AND r.version = %(revision)s
    WHERE t.id = %(task)s
    RETURNING id, tenant_id, task_id
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT tenant_id, 'execution.materialized', id, task_id FROM made
)
SELECT id FROM made
