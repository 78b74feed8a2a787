-- name: fix_instants
-- Stores the instants of a backfill in order of time, with the ids that their executions will have.
-- They are read by primary key.
INSERT INTO bulk_job_items (job_id, position, item_id, at, code, message)
SELECT %(job)s, p.position - 1, p.id, p.at, '', ''
FROM unnest(%(ids)s::uuid[], %(instants)s::timestamptz[])
     WITH ORDINALITY AS p (id, at, position)

-- name: insert_executions
-- Inserts the executions of one step, in the low band so that none of them delays scheduled work,
-- and gated: the gate admits as many at a time as the job allows. A repeat meets the derived ids
-- and changes nothing. All ids lie within the job's own millisecond, so one day is touched.
WITH made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds, incarnation,
        worker, held, gated, series_id, error_code, error_message, trace_context, created_at,
        concurrency_key, key_place
    )
    SELECT p.id, t.tenant_id, t.id, t.partition, greatest(7, t.priority), t.pool,
           t.destination, t.version, 'PENDING', '', 'backfill',
           p.scheduled_for, p.due_at, 0, t.max_attempts, 0, t.timeout_seconds, '',
           '', true, true, %(job)s, '', '', %(trace)s, now(), t.concurrency_key,
           CASE WHEN t.concurrency_key IS NOT NULL THEN 0 END
    FROM tasks t
    CROSS JOIN unnest(
        %(ids)s::uuid[], %(scheduled_for)s::timestamptz[], %(due_at)s::timestamptz[]
    ) AS p (id, scheduled_for, due_at)
    WHERE t.id = %(task)s AND NOT EXISTS (
        SELECT FROM ended_executions d
        WHERE d.id = p.id AND d.id >= %(low)s AND d.id < %(high)s)
    ON CONFLICT (id) DO NOTHING
    RETURNING id, tenant_id, task_id
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.materialized', array_agg(id), array_agg(task_id)
    FROM made GROUP BY tenant_id
)
SELECT count(*) FROM made

-- name: lock_waiting
-- Locks a backfill's executions that neither run nor have ended, against gate, dispatch and
-- recorder, in the order of ids. Index executions_of_series_idx.
SELECT e.id, e.status, e.fencing_token FROM open_executions e
WHERE e.series_id = %(job)s
  AND e.status IN ('PENDING', 'RETRYING', 'QUEUED')
ORDER BY e.id FOR NO KEY UPDATE

-- name: count_by_status
-- Counts the executions of a backfill by state. Index executions_of_series_idx alone; the bounds
-- leave the job's day.
SELECT e.status, count(*) FROM executions e
WHERE e.series_id = %(job)s AND e.id >= %(low)s AND e.id < %(high)s
GROUP BY e.status

-- name: with_open
-- Returns the backfills that have executions that have not ended. Index executions_of_series_idx,
-- one probe for each; the bounds leave the day of each.
SELECT j.id FROM unnest(%(jobs)s::uuid[], %(lows)s::uuid[], %(highs)s::uuid[]) AS j (id, low, high)
WHERE EXISTS (
    SELECT FROM open_executions e
    WHERE e.series_id = j.id AND e.id >= j.low AND e.id < j.high AND e.status = ANY(%(open)s::text[])
)
