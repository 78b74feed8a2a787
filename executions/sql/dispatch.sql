-- name: claim_due
-- Moves a band's work due within the window to QUEUED under a new fencing token and a lease,
-- soonest first. Skips rows that somebody else changes in this moment. Index
-- executions_due_idx; ids are bounded so that only days with unfinished work are touched.
WITH due AS (
    SELECT e.id FROM executions e
    WHERE e.id >= %(low)s AND e.id < %(high)s
      AND e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND e.band = %(band)s
      AND e.due_at <= now() + %(window)s * interval '1 second'
      AND e.pool = %(pool)s AND e.partition = ANY(%(partitions)s)
    ORDER BY e.due_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), moved AS (
    UPDATE executions e
    SET status = 'QUEUED', fencing_token = nextval('execution_token_seq'), queued_at = now(),
        incarnation = %(incarnation)s,
        lease_expires_at = greatest(now(), e.due_at) + %(margin)s * interval '1 second'
    FROM due
    WHERE e.id = due.id AND e.id >= %(low)s AND e.id < %(high)s
    RETURNING e.id, e.tenant_id, e.task_id, e.revision, e.scheduled_for, e.due_at, e.attempt,
              e.max_attempts, e.fencing_token, e.lease_expires_at, e.band, e.sealed_payload
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT tenant_id, 'execution.queued', id, task_id FROM moved
)
SELECT m.id, m.tenant_id, m.task_id, m.revision, m.scheduled_for, m.due_at, m.attempt,
       m.max_attempts, m.fencing_token, m.lease_expires_at, m.band, m.sealed_payload,
       r.definition -> 'target', r.definition -> 'retry_policy', r.sealed
FROM moved m
JOIN task_revisions r ON r.task_id = m.task_id AND r.version = m.revision
ORDER BY m.due_at

-- name: next_due
-- The soonest due time of work that waits in the held partitions, and the time now. Index
-- executions_due_idx.
SELECT min(soonest), clock_timestamp() FROM (
    SELECT (
        SELECT e.due_at FROM executions e
        WHERE e.id >= %(low)s AND e.id < %(high)s
          AND e.status IN ('PENDING', 'RETRYING') AND NOT e.held
          AND e.band = b AND e.partition = ANY(%(partitions)s)
        ORDER BY e.due_at LIMIT 1
    ) AS soonest
    FROM unnest(ARRAY[0, 1, 2]::smallint[]) AS b
) AS per_band

-- name: in_flight
-- Executions per pool that workers hold or run. Index executions_leased_idx.
SELECT pool, count(*) FROM executions
WHERE id >= %(low)s AND id < %(high)s AND status IN ('QUEUED', 'RUNNING')
GROUP BY pool
