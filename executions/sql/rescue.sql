-- name: expired_queued
-- Returns released work that was not started in time, that was queued for a pool before it lost a
-- worker, or in a partition before its scheduler was lost, which may not have sent it, or anywhere
-- while a scheduler was lost that claimed of all partitions; and work sent under a former
-- incarnation of Redis, once that is settled. Work leased over the API has been
-- started by its lease, and callback/expired judges it. Index open_executions_leased_idx.
SELECT e.id, e.fencing_token, e.partition, e.due_at, e.tenant_id, e.task_id, e.attempt + 1,
       e.trace_context
FROM open_executions e
WHERE e.status = 'QUEUED' AND e.lease_expires_at >= %(first)s
  AND e.pool NOT LIKE 'pull.%%' AND e.partition = ANY(%(partitions)s)
  AND CASE WHEN e.incarnation <> %(incarnation)s THEN %(settled)s
      ELSE e.lease_expires_at < now() OR EXISTS (
          SELECT FROM unnest(%(pools)s::text[], %(lost_ago)s::float8[]) AS l (pool, ago)
          WHERE e.pool = l.pool AND e.queued_at < now() - l.ago * interval '1 second'
      ) OR EXISTS (
          SELECT FROM unnest(%(inherited)s::smallint[], %(since)s::timestamptz[])
              AS i (partition, since)
          WHERE e.partition = i.partition AND e.queued_at < i.since
      ) OR coalesce(e.queued_at >= %(unsent_since)s::timestamptz
          AND e.queued_at < %(unsent_until)s::timestamptz, false) END
ORDER BY e.lease_expires_at LIMIT %(limit)s

-- name: lost_running
-- Locks running work whose worker is gone, or whose lease had run out at a moment up to which every
-- outcome has been recorded; not work that runs without a worker of ours. Skips rows that another
-- session changes in this moment. Index open_executions_leased_idx.
SELECT e.id, e.fencing_token, e.attempt, e.max_attempts, e.lost_count, e.worker,
       e.cancel_requested_at IS NOT NULL, r.definition -> 'retry_policy', e.started_at,
       e.scheduled_for, e.tenant_id, e.task_id, e.trace_context
FROM open_executions e
JOIN task_revisions r ON r.task_id = e.task_id AND r.version = e.revision
WHERE e.status = 'RUNNING' AND e.lease_expires_at >= %(first)s
  AND e.partition = ANY(%(partitions)s) AND e.accepted_at IS NULL
  AND (e.lease_expires_at < %(expired_before)s OR e.worker = ANY(%(lost_workers)s))
ORDER BY e.lease_expires_at LIMIT %(limit)s
FOR NO KEY UPDATE OF e SKIP LOCKED

-- name: lock_free
-- Locks the executions that no other session changes in this moment. Primary key.
SELECT e.id FROM open_executions e
WHERE e.id = ANY(%(ids)s)
FOR NO KEY UPDATE SKIP LOCKED

-- name: running_workers
-- Returns workers that run work according to the ledger. Index open_executions_leased_idx.
SELECT DISTINCT e.worker FROM open_executions e
WHERE e.status = 'RUNNING' AND e.lease_expires_at >= %(first)s
  AND e.lease_expires_at < '9999-01-01T00:00:00Z'  -- No runs of workflows: no worker has them.
  AND e.partition = ANY(%(partitions)s) AND e.accepted_at IS NULL

-- name: first_lease
-- Returns when the first lease of work in the partitions ends, from a lower bound on, and the time
-- now. Index open_executions_leased_idx, by its order.
SELECT (
    SELECT e.lease_expires_at FROM open_executions e
    WHERE e.status IN ('QUEUED', 'RUNNING') AND e.lease_expires_at >= %(since)s
      AND e.lease_expires_at < %(before)s AND e.partition = ANY(%(partitions)s)
    ORDER BY e.lease_expires_at LIMIT 1
), now()
