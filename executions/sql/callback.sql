-- name: accept
-- Moves QUEUED or RUNNING to RUNNING at the receiver, which has answered 202: from here on
-- heartbeats keep the lease, and no worker of ours. Work that a heartbeat has accepted before stays
-- as it is. The attempt is counted once, here or by its start. ``grace`` is how long cancelled work
-- may go on.
WITH before AS (
    -- The target in an expression: joined, all versions would be read.
    SELECT e.id, e.status, (SELECT r.definition -> 'target' FROM task_revisions r
        WHERE r.task_id = e.task_id AND r.version = e.revision) AS target
    FROM open_executions e
    WHERE e.id = ANY(%(ids)s)
    ORDER BY e.id FOR NO KEY UPDATE
), moved AS (
    UPDATE open_executions e
    SET status = 'RUNNING',
        attempt = e.attempt + CASE WHEN b.status = 'QUEUED' THEN 1 ELSE 0 END,
        worker = o.worker, accepted_at = o.at,
        started_at = coalesce(e.started_at, o.started_at),
        start_delay_ms = coalesce(e.start_delay_ms,
            extract(epoch FROM o.started_at - e.due_at)::float8 * 1000),
        lease_expires_at = least(
            statement_timestamp() + (b.target ->> 'heartbeat_timeout_seconds')::float8
                * interval '1 second',
            o.at + (b.target ->> 'max_runtime_seconds')::float8 * interval '1 second',
            e.cancel_requested_at + %(grace)s * interval '1 second')
    FROM unnest(
        %(ids)s::uuid[], %(tokens)s::bigint[], %(workers)s::text[], %(started_at)s::timestamptz[],
        %(at)s::timestamptz[]
    ) AS o (id, token, worker, started_at, at), before b
    WHERE e.id = o.id AND e.id = ANY(%(ids)s) AND b.id = o.id AND e.fencing_token = o.token
      -- In an expression, as in finish.
      AND CASE WHEN e.status IN ('QUEUED', 'RUNNING') THEN true ELSE false END
      AND e.accepted_at IS NULL AND b.target IS NOT NULL
    RETURNING e.id, e.tenant_id, e.task_id
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT tenant_id, 'execution.accepted', id, task_id FROM moved
)
SELECT id, task_id FROM moved

-- name: heartbeat
-- Extends the lease of one execution under its token, never beyond its longest run, nor, once its
-- cancel is requested, beyond the grace; stores its progress. The first heartbeat of work without a
-- recorded start moves it from QUEUED to RUNNING and counts the attempt. One partition, by primary
-- key.
WITH before AS (
    SELECT e.id, e.status FROM open_executions e
    WHERE e.id = %(id)s AND e.fencing_token = %(token)s AND e.status IN ('QUEUED', 'RUNNING')
    FOR NO KEY UPDATE
), moved AS (
    UPDATE open_executions e
    SET status = 'RUNNING',
        attempt = e.attempt + CASE WHEN b.status = 'QUEUED' THEN 1 ELSE 0 END,
        accepted_at = coalesce(e.accepted_at, statement_timestamp()),
        -- Leased work begins with its lease.
        started_at = coalesce(e.started_at,
            CASE WHEN e.pool LIKE 'pull.%%' THEN e.queued_at ELSE statement_timestamp() END),
        start_delay_ms = coalesce(e.start_delay_ms, extract(epoch FROM
            CASE WHEN e.pool LIKE 'pull.%%' THEN e.queued_at ELSE statement_timestamp() END
            - e.due_at)::float8 * 1000),
        sealed_progress = coalesce(%(progress)s::bytea, e.sealed_progress),
        lease_expires_at = least(
            greatest(e.lease_expires_at, statement_timestamp() + coalesce(%(extend)s::float8,
                (r.definition #>> '{target,heartbeat_timeout_seconds}')::float8,
                e.timeout_seconds) * interval '1 second'),
            coalesce(e.accepted_at, statement_timestamp())
                + (r.definition #>> '{target,max_runtime_seconds}')::float8 * interval '1 second',
            e.cancel_requested_at + %(grace)s * interval '1 second')
    FROM before b, task_revisions r
    WHERE e.id = b.id AND e.id = %(id)s AND r.task_id = e.task_id AND r.version = e.revision
    RETURNING e.id, e.tenant_id, e.task_id, e.pool, e.worker, e.cancel_requested_at,
              e.lease_expires_at, b.status = 'QUEUED' AS began
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.started', ARRAY[id], ARRAY[task_id] FROM moved WHERE began
)
SELECT task_id, tenant_id, pool, worker, cancel_requested_at IS NOT NULL, lease_expires_at, began
FROM moved

-- name: expired
-- Locks work that runs without a worker of ours and whose lease is over: accepted by a receiver, or
-- leased over the API. Heartbeats write the lease themselves, so no report of it can be waiting in
-- the outcome stream. Index open_executions_leased_idx.
SELECT e.id, e.fencing_token, e.attempt, e.max_attempts, e.lost_count, e.worker,
       e.cancel_requested_at IS NOT NULL, r.definition -> 'retry_policy',
       CASE WHEN e.pool LIKE 'pull.%%' THEN e.queued_at
            WHEN e.attempt > 1 THEN e.accepted_at ELSE e.started_at END,
       e.status, e.pool LIKE 'pull.%%', e.scheduled_for,
       e.accepted_at + (r.definition #>> '{target,max_runtime_seconds}')::float8
           * interval '1 second' <= statement_timestamp(),
       e.tenant_id, e.task_id, e.trace_context
FROM open_executions e
JOIN task_revisions r ON r.task_id = e.task_id AND r.version = e.revision
WHERE e.status IN ('QUEUED', 'RUNNING') AND e.lease_expires_at >= %(first)s
  AND e.partition = ANY(%(partitions)s) AND e.lease_expires_at < statement_timestamp()
  AND (e.accepted_at IS NOT NULL OR e.pool LIKE 'pull.%%')
ORDER BY e.lease_expires_at LIMIT %(limit)s
FOR NO KEY UPDATE OF e SKIP LOCKED

-- name: tenant
-- Returns the tenant of an execution, which nothing but a verified token has named yet. By primary
-- key, in the open ones and in one day.
SELECT e.tenant_id FROM executions e WHERE e.id = %(id)s

-- name: secrets_of_holder
-- Returns the tenant of an execution that has not ended, and the names of the secrets that its
-- target uses. Primary keys.
SELECT e.tenant_id, r.definition #> '{target,named_secrets}'
FROM open_executions e
JOIN task_revisions r ON r.task_id = e.task_id AND r.version = e.revision
WHERE e.id = %(id)s

-- name: holder
-- Locks one execution for the holder of its token, against every other end of it. Primary key.
SELECT e.id, e.tenant_id, e.status, e.fencing_token, e.attempt, e.max_attempts, e.scheduled_for,
       e.cancel_requested_at IS NOT NULL, e.worker, e.pool LIKE 'pull.%%',
       CASE WHEN e.pool LIKE 'pull.%%' THEN e.queued_at
            WHEN e.attempt > 1 THEN e.accepted_at ELSE e.started_at END,
       r.definition -> 'retry_policy', e.pool, e.reason,
       r.definition #> '{target,named_secrets}'
FROM open_executions e
JOIN task_revisions r ON r.task_id = e.task_id AND r.version = e.revision
WHERE e.id = %(id)s
FOR NO KEY UPDATE OF e

-- name: ended_holder
-- Returns the same for an execution that has ended and never changes. One day, by its key.
SELECT e.id, e.tenant_id, e.status, e.fencing_token, e.attempt, e.max_attempts, e.scheduled_for,
       e.cancel_requested_at IS NOT NULL, e.worker, e.pool LIKE 'pull.%%',
       CASE WHEN e.pool LIKE 'pull.%%' THEN e.queued_at
            WHEN e.attempt > 1 THEN e.accepted_at ELSE e.started_at END,
       r.definition -> 'retry_policy', e.pool, e.reason,
       r.definition #> '{target,named_secrets}'
FROM ended_executions e
JOIN task_revisions r ON r.task_id = e.task_id AND r.version = e.revision
WHERE e.id = %(id)s
