-- name: hold_leases
-- Gives every partition to the fence for good, under an epoch far above any that was used after the
-- moment to which the database was restored. No scheduler can take or renew one: no work is
-- prepared, released, rescued or resumed. The lease ends a million days after the last sign of a
-- scheduler's life, up to which the database knows the events. A table of 256 rows.
UPDATE partition_leases l
SET owner = %(fence)s, epoch = l.epoch + %(epochs)s,
    expires_at = (SELECT coalesce(max(n.heartbeat_at), now()) FROM scheduler_nodes n)
        + interval '1000000 days'
WHERE l.owner IS DISTINCT FROM %(fence)s::uuid

-- name: skip_tokens
-- Moves the sequence of fencing tokens past every value that can have been used after the moment to
-- which the database was restored. One row.
SELECT setval('execution_token_seq', s.last_value + %(tokens)s) FROM execution_token_seq s

-- name: holds
-- Returns whether the fence is up; it owns all partitions or none. Primary key.
SELECT EXISTS (SELECT 1 FROM partition_leases l WHERE l.partition = 0 AND l.owner = %(fence)s)

-- name: lift
-- Lets schedulers take the partitions, as if they had had no owner for ages: prepared and overdue
-- work goes back to its misfire policy. A table of 256 rows.
UPDATE partition_leases l SET owner = NULL, expires_at = '1970-01-01T00:00:00Z'
WHERE l.owner = %(fence)s

-- name: released
-- Returns work that was released and whose start is not recorded, except work leased over the API,
-- which its lease has started. Index open_executions_leased_idx.
SELECT e.id, e.fencing_token FROM open_executions e
WHERE e.status = 'QUEUED' AND e.pool NOT LIKE 'pull.%%'
ORDER BY e.id LIMIT %(limit)s

-- name: last_sign
-- Returns the last sign of a scheduler's life before the fence, as hold_leases noted it, and the
-- clock. Primary key.
SELECT l.expires_at - interval '1000000 days', clock_timestamp()
FROM partition_leases l WHERE l.partition = 0

-- name: overdue_tasks
-- Counts, by misfire policy, tasks with an instant in the past that has not started, and such
-- instants that are prepared and that the policy judges, or will when they have been taken back.
-- Indexes task_cursors_due_idx, open_executions_due_idx and open_executions_late_on_hold_idx.
WITH overdue AS (
    SELECT t.id, t.schedule, 0 AS prepared FROM task_cursors k JOIN tasks t ON t.id = k.task_id
    WHERE NOT k.held AND k.next_run_at < statement_timestamp() AND t.status = 'SCHEDULED'
    UNION ALL
    SELECT t.id, t.schedule, 1 FROM open_executions e JOIN tasks t ON t.id = e.task_id
    WHERE t.status = 'SCHEDULED'
      AND (e.status = 'QUEUED' AND e.pool NOT LIKE 'pull.%%' AND e.reason = ''
           OR e.status = 'PENDING' AND judged_after_outage(
               e.held, e.gated, e.parked, e.key_place, e.pool, e.reason))
      AND e.attempt = 0 AND e.trigger = 'schedule' AND e.due_at < statement_timestamp()
)
SELECT coalesce(o.schedule ->> 'misfire_policy', 'coalesce') AS policy,
       count(DISTINCT o.id), sum(o.prepared)::bigint
FROM overdue o GROUP BY policy ORDER BY policy

-- name: unfinished
-- Counts work that was under way: running in our workers, leased or accepted outside, retries that
-- are due, retries that wait, and due work outside the schedule or with a reason, such as a
-- coalesced run. Runs of workflows are counted apart. Indexes open_executions_leased_idx and
-- open_executions_due_idx.
SELECT count(*) FILTER (WHERE e.status = 'RUNNING' AND NOT outside),
       count(*) FILTER (WHERE e.status IN ('QUEUED', 'RUNNING') AND outside),
       count(*) FILTER (WHERE repeated AND e.due_at < statement_timestamp()),
       count(*) FILTER (WHERE repeated AND e.due_at >= statement_timestamp()),
       count(*) FILTER (WHERE asked AND e.due_at < statement_timestamp())
FROM open_executions e
CROSS JOIN LATERAL (
    SELECT e.pool LIKE 'pull.%%' OR e.accepted_at IS NOT NULL AS outside,
           e.status = 'RETRYING'
           OR e.attempt > 0 AND e.status IN ('PENDING', 'QUEUED') AS repeated,
           e.attempt = 0 AND (e.trigger <> 'schedule' OR e.reason <> '' AND NOT judged_after_outage(
               e.held, e.gated, e.parked, e.key_place, e.pool, e.reason))
           AND e.status IN ('PENDING', 'QUEUED') AS asked
) AS kind
WHERE e.pool <> 'workflow' OR e.status <> 'RUNNING'

-- name: runs_open
-- Counts runs of workflows that have begun and not ended. They are few.
SELECT count(*) FROM workflow_runs

-- name: move_waits
-- Moves what runs of workflows wait for, and their deadlines, by the time that the installation was
-- away: their steps could not go on meanwhile.
WITH later AS (
    UPDATE workflow_waits w SET due_at = w.due_at + %(lost)s * interval '1 second'
    WHERE w.due_at IS NOT NULL
)
UPDATE workflow_runs r SET deadline_at = r.deadline_at + %(lost)s * interval '1 second'

-- name: pause_runs
-- Lets runs of workflows start no step until a person resumes them. Steps that were released are
-- taken back by the scheduler that finds the mark. A run that a person cancels begins nothing.
WITH paused AS (
    UPDATE workflow_runs r
    SET phase = 'paused', reason = CASE WHEN r.reason = '' THEN 'restored' ELSE r.reason END
    WHERE r.phase <> 'cancelling' OR r.reason = 'deadline_exceeded'
    RETURNING r.id, r.tenant_id, r.partition, r.take
), held AS (
    UPDATE open_executions e
    SET held = true, gated = false, counted = false, parked = false, reason = 'run_paused',
        key_place = CASE WHEN e.key_place = 0 OR e.status = 'PENDING' AND (
                         e.key_place = 1 OR e.key_place = 2 AND e.attempt = 0) THEN -1
                         ELSE e.key_place END
    FROM paused p WHERE e.run_id = p.id AND e.step IS NOT NULL
      AND (e.revision >= 1610612736 AND e.status <> 'QUEUED' OR e.status = 'PENDING')
)
INSERT INTO workflow_waits (run_id, step, item, kind, take, tenant_id, partition, began_at)
SELECT p.id, 0, -1, 'pausing', p.take, p.tenant_id, p.partition, now() FROM paused p
ON CONFLICT (run_id, step, item, kind) DO UPDATE SET began_at = EXCLUDED.began_at

-- name: cancel_runs
-- Tells all runs of workflows to cancel what has not ended.
INSERT INTO workflow_inbox (run_id, kind) SELECT r.id, 'cancel' FROM workflow_runs r

-- name: bulk_jobs_open
-- Counts bulk jobs that have not ended: they continue where they were. Index bulk_jobs_due_idx.
SELECT count(*) FROM bulk_jobs WHERE status IN ('PENDING', 'RUNNING')
