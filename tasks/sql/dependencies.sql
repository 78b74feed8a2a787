-- name: wait
-- Puts tasks with an instant ahead on hold until their prerequisites have succeeded, a row for each
-- prerequisite. The caller has written the tasks in this transaction, or has locked them.
WITH given AS (
    SELECT * FROM unnest(
        %(tasks)s::uuid[], %(prerequisites)s::uuid[], %(tenants)s::uuid[], %(partitions)s::smallint[],
        %(on_failure)s::text[]
    ) AS g (task_id, prerequisite_id, tenant_id, partition, on_failure)
), waits AS (
    INSERT INTO task_dependencies (
        prerequisite_id, task_id, tenant_id, partition, on_failure, look_at)
    -- Judged at once, after this transaction: an end that commits meanwhile does not see the row.
    SELECT prerequisite_id, task_id, tenant_id, partition, on_failure, clock_timestamp() FROM given
)
UPDATE task_cursors k SET held = true, execution_id = NULL
WHERE k.task_id = ANY(%(tasks)s::uuid[])

-- name: wait_no_longer
-- Forgets what locked tasks wait for, as they end or are planned anew, and lets the tasks that wait
-- for them be judged. Locks the rows of both sides in the order of every statement that locks
-- several. Primary key and task_dependencies_of_task_idx.
WITH links AS MATERIALIZED (
    SELECT l.prerequisite_id, l.task_id FROM task_dependencies l
    WHERE l.prerequisite_id = ANY(%(tasks)s::uuid[]) OR l.task_id = ANY(%(tasks)s::uuid[])
    ORDER BY l.prerequisite_id, l.task_id FOR UPDATE
), gone AS (
    DELETE FROM task_dependencies d USING links o
    WHERE d.prerequisite_id = o.prerequisite_id AND d.task_id = o.task_id
      AND o.task_id = ANY(%(tasks)s::uuid[])
    RETURNING d.task_id
), told AS (
    UPDATE task_dependencies d SET look_at = clock_timestamp() FROM links o
    WHERE d.prerequisite_id = o.prerequisite_id AND d.task_id = o.task_id
      AND NOT o.task_id = ANY(%(tasks)s::uuid[])
)
SELECT DISTINCT task_id FROM gone

-- name: tell
-- Lets the tasks that wait for locked tasks be judged, if they are not to be already. Primary key.
UPDATE task_dependencies d SET look_at = clock_timestamp()
FROM (
    SELECT l.prerequisite_id, l.task_id FROM task_dependencies l
    WHERE l.prerequisite_id = ANY(%(ended)s::uuid[])
      AND (l.look_at IS NULL OR l.look_at > clock_timestamp())
    ORDER BY l.prerequisite_id, l.task_id FOR UPDATE
) AS o
WHERE d.prerequisite_id = o.prerequisite_id AND d.task_id = o.task_id

-- name: look
-- Lets locked tasks be judged. Index task_dependencies_of_task_idx.
UPDATE task_dependencies d SET look_at = clock_timestamp()
FROM (
    SELECT l.prerequisite_id, l.task_id FROM task_dependencies l
    WHERE l.task_id = ANY(%(tasks)s::uuid[])
    ORDER BY l.prerequisite_id, l.task_id FOR UPDATE
) AS o
WHERE d.prerequisite_id = o.prerequisite_id AND d.task_id = o.task_id

-- name: lock_graph
-- Lets one session of a tenant at a time change what existing tasks wait for.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant)s::text, 270606))

-- name: behind
-- Returns what the prerequisites wait for themselves, directly or by others: (task, prerequisite)
-- pairs. Index task_dependencies_of_task_idx.
WITH RECURSIVE behind AS (
    SELECT p.id FROM unnest(%(prerequisites)s::uuid[]) AS p (id)
    UNION
    SELECT d.prerequisite_id FROM behind b JOIN task_dependencies d ON d.task_id = b.id
)
SELECT d.task_id, d.prerequisite_id FROM behind b JOIN task_dependencies d ON d.task_id = b.id

-- name: to_judge
-- Returns tasks whose prerequisites have moved, or whose instant has come with a failed one, each
-- with whether any task waits at all; or one row without a task. Index task_dependencies_look_idx.
SELECT l.task_id, w.waits
FROM (SELECT EXISTS (SELECT FROM task_dependencies) AS waits) AS w
LEFT JOIN (
    SELECT DISTINCT m.task_id FROM (
        SELECT d.task_id FROM task_dependencies d
        WHERE d.look_at <= (SELECT clock_timestamp()) AND d.partition = ANY(%(partitions)s::smallint[])
        ORDER BY d.look_at LIMIT %(limit)s
    ) AS m
) AS l ON true

-- name: lock_waiting
-- Locks the tasks that wait, which keeps their rows as they are; skips those that another session
-- changes in this moment: the next look finds them. By primary key.
SELECT t.id FROM tasks t WHERE t.id = ANY(%(tasks)s::uuid[])
ORDER BY t.id FOR NO KEY UPDATE SKIP LOCKED

-- name: lock_prerequisites
-- After lock_waiting, in a statement of its own: locks the prerequisites, so that each end has been
-- committed, or will see the rows as the judgement leaves them. Returns the tasks all of whose
-- prerequisites it has locked; the next look finds the others. By primary keys.
WITH links AS MATERIALIZED (
    SELECT d.task_id, d.prerequisite_id FROM task_dependencies d
    WHERE d.task_id = ANY(%(tasks)s::uuid[])
), known AS MATERIALIZED (
    SELECT t.id FROM (SELECT DISTINCT prerequisite_id AS id FROM links) AS p
    CROSS JOIN LATERAL (SELECT t.id FROM tasks t WHERE t.id = p.id OFFSET 0) AS t
), locked AS MATERIALIZED (
    SELECT t.id FROM tasks t WHERE t.id = ANY(ARRAY(SELECT id FROM known))
    ORDER BY t.id FOR SHARE SKIP LOCKED
)
SELECT w.id FROM unnest(%(tasks)s::uuid[]) AS w (id)
WHERE NOT EXISTS (
    SELECT FROM links l JOIN known k ON k.id = l.prerequisite_id
    WHERE l.task_id = w.id AND NOT EXISTS (SELECT FROM locked o WHERE o.id = k.id))

-- name: judge
-- After lock_prerequisites, in a statement of its own, which sees every end that was committed:
-- returns for each task whether all prerequisites have succeeded, whether one has ended without
-- success, whether one of these can never succeed, whether the task is paused, its policy, its
-- instant, and the place of its cursor. Forgets prerequisites that have succeeded, and looks again
-- at the instant where one has failed before it. By primary keys.
WITH found AS MATERIALIZED (
    SELECT d.task_id, d.prerequisite_id, d.on_failure, coalesce(p.state, 'gone') AS state
    FROM task_dependencies d LEFT JOIN LATERAL (
        SELECT CASE
            WHEN t.type <> 'ONE_TIME' THEN 'gone'
            -- By its schedule, a retry or by hand, and nothing of its own is left to run.
            WHEN t.last_success_at IS NOT NULL AND (t.status = 'COMPLETED'
                     OR t.status IN ('FAILED', 'PAUSED') AND t.last_execution_status = 'SUCCEEDED')
                 AND NOT EXISTS (SELECT FROM task_cursors k WHERE k.task_id = t.id)
                 AND NOT EXISTS (
                     SELECT FROM open_executions e
                     WHERE e.task_id = t.id AND e.trigger IN ('schedule', 'retry')
                       AND e.revision < %(redirected)s)
            THEN 'succeeded'
            WHEN t.deleted_at IS NOT NULL OR t.status = 'CANCELLED' THEN 'gone'
            WHEN t.status IN ('FAILED', 'COMPLETED') THEN 'failed'
            ELSE 'open' END AS state
        FROM tasks t WHERE t.id = d.prerequisite_id OFFSET 0
    ) AS p ON true
    WHERE d.task_id = ANY(%(tasks)s::uuid[])
), judged AS MATERIALIZED (
    SELECT f.*, k.next_run_at AS at, k.ctid::text AS place,
           (SELECT t.status FROM tasks t WHERE t.id = f.task_id) = 'PAUSED' AS paused
    FROM (
        SELECT task_id, min(on_failure) AS on_failure, bool_and(state = 'succeeded') AS ready,
               bool_or(state IN ('failed', 'gone')) AS failed, bool_or(state = 'gone') AS gone
        FROM found GROUP BY task_id
    ) AS f
    CROSS JOIN LATERAL (
        SELECT k.next_run_at, k.ctid FROM task_cursors k WHERE k.task_id = f.task_id OFFSET 0
    ) AS k
), met AS (
    DELETE FROM task_dependencies d USING found f
    WHERE d.task_id = f.task_id AND d.prerequisite_id = f.prerequisite_id AND f.state = 'succeeded'
), seen AS (
    UPDATE task_dependencies d
    SET look_at = CASE
        WHEN f.state IN ('failed', 'gone') AND j.at > clock_timestamp() THEN j.at END
    FROM found f LEFT JOIN judged j ON j.task_id = f.task_id
    WHERE d.task_id = f.task_id AND d.prerequisite_id = f.prerequisite_id AND f.state <> 'succeeded'
)
SELECT j.task_id, j.ready, j.failed, j.gone, j.paused, j.on_failure, j.at, j.place FROM judged j

-- name: free
-- Takes locked tasks off hold: they wait for nothing any longer. What comes late by the wait is due
-- now. Returns the new places of their cursors. By the places, as the table has no primary key.
WITH gone AS (
    DELETE FROM task_dependencies d WHERE d.task_id = ANY(%(tasks)s::uuid[])
)
UPDATE task_cursors k
SET held = t.status <> 'SCHEDULED',
    replayed_until = CASE WHEN k.next_run_at < clock_timestamp() THEN clock_timestamp() END
FROM tasks t
WHERE k.task_id = ANY(%(tasks)s::uuid[]) AND k.ctid = ANY(%(places)s::text[]::tid[])
  AND t.id = k.task_id
RETURNING k.task_id, k.ctid::text
