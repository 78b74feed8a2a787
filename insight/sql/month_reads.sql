-- name: ended_of_tenant
-- Adds up the successes and failures of tasks and of runs by day, from the minutes in which they
-- ended, days without any left out. Primary key of minute_stats: 1,440 rows of each day at most.
SELECT d.number::integer,
       sum(m.succeeded - m.steps_succeeded + m.runs_succeeded)::bigint,
       sum(m.failed - m.steps_failed + m.runs_failed)::bigint
FROM unnest(%(starts)s::timestamptz[], %(ends)s::timestamptz[])
     WITH ORDINALITY AS d (starts, ends, number)
JOIN minute_stats m ON m.tenant_id = %(tenant)s AND m.minute >= d.starts AND m.minute < d.ends
GROUP BY d.number
ORDER BY d.number

-- name: ended_of_tasks
-- Counts successes and failures of some tasks by day, of each task the newest `most` rows of the
-- day; the last column says whether a task has that many. Index executions_of_task_idx, of the
-- ledger's days that meet the day.
SELECT d.number::integer, sum(e.succeeded)::bigint, sum(e.failed)::bigint,
       bool_or(e.read >= %(most)s)
FROM unnest(%(lows)s::uuid[], %(highs)s::uuid[]) WITH ORDINALITY AS d (low, high, number)
CROSS JOIN unnest(%(tasks)s::uuid[]) AS t (id)
CROSS JOIN LATERAL (
    SELECT count(*) AS read, count(*) FILTER (WHERE r.status = 'SUCCEEDED') AS succeeded,
           count(*) FILTER (WHERE r.status = 'FAILED') AS failed
    FROM (
        SELECT x.status FROM ended_executions x
        WHERE x.task_id = t.id AND x.tenant_id = %(tenant)s AND x.id >= d.low AND x.id < d.high
          AND x.revision < 1610612736
        ORDER BY x.id DESC LIMIT %(most)s
    ) AS r
) AS e
WHERE e.read > 0
GROUP BY d.number
ORDER BY d.number
