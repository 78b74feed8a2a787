-- name: reach
-- Returns the id of the oldest of the newest `most` executions of a task that have ended, no row
-- where fewer have. Index executions_of_task_idx of each day, from the newest day on.
SELECT e.id FROM ended_executions e
WHERE e.task_id = %(task)s AND e.tenant_id = %(tenant)s AND e.id >= %(low)s
  AND e.revision < 1610612736 AND e.span_count IS NULL
ORDER BY e.id DESC OFFSET %(most)s - 1 LIMIT 1

-- name: history
-- Summarises the executions of a task that have ended, from an id on: in all (level 3), by the part
-- of time that they lie in (level 1), and by state and cause (level 2). Parts begin at `bounds`.
-- The caller bounds their number by `reach`. Index executions_of_task_idx of each day.
WITH found AS (
    SELECT width_bucket(e.id, %(bounds)s::uuid[]) AS part, e.id, e.status, e.error_code,
           e.response_status, e.start_delay_ms,
           CASE WHEN e.started_at IS NOT NULL -- greatest(0, NULL) is 0
                THEN greatest(0, extract(epoch FROM e.finished_at - e.started_at)::float8 * 1000)
           END AS duration
    FROM ended_executions e
    WHERE e.task_id = %(task)s AND e.tenant_id = %(tenant)s AND e.id >= %(low)s
      AND e.revision < 1610612736 AND e.span_count IS NULL
)
SELECT grouping(f.part, f.status)::integer AS level, f.part, f.status, f.error_code,
       f.response_status, count(*), count(*) FILTER (WHERE f.status = 'SUCCEEDED'),
       count(*) FILTER (WHERE f.status = 'FAILED'),
       percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY f.start_delay_ms),
       percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY f.duration),
       max(f.id::text)
FROM found f
GROUP BY GROUPING SETS ((f.part), (f.status, f.error_code, f.response_status), ())
ORDER BY 1, 2, 6 DESC, 3, 4, 5

-- name: days
-- Counts the newest `most` rows of each day of a task by state, and finds how far the rows reach
-- that a pause left out. Index executions_of_task_idx, of the ledger's days that meet the day.
SELECT d.number::integer, count(*), count(*) FILTER (WHERE e.status = 'SUCCEEDED'),
       count(*) FILTER (WHERE e.status = 'FAILED'), count(*) FILTER (WHERE e.status = 'CANCELLED'),
       count(*) FILTER (WHERE e.status = 'SKIPPED'),
       max(coalesce(e.span_last, e.scheduled_for)) FILTER (WHERE e.reason = ANY(%(pauses)s::text[])),
       bool_or(e.reason = 'calendar_excluded')
FROM unnest(%(lows)s::uuid[], %(highs)s::uuid[]) WITH ORDINALITY AS d (low, high, number)
CROSS JOIN LATERAL (
    SELECT x.status, x.reason, x.span_last, x.scheduled_for FROM ended_executions x
    WHERE x.task_id = %(task)s AND x.tenant_id = %(tenant)s AND x.id >= d.low AND x.id < d.high
      AND x.revision < 1610612736
    ORDER BY x.id DESC LIMIT %(most)s
) AS e
GROUP BY d.number
ORDER BY d.number
