-- name: add_answers
-- Adds answers of the API to a tenant to the minute under way, by new rows: web processes do not
-- wait for each other. Those among them that are errors have their cause.
INSERT INTO objective_counts (tenant_id, at, objective, cause, counted, bad)
SELECT a.tenant_id, date_trunc('minute', now(), 'UTC'), %(objective)s::text,
       CASE WHEN a.errors > 0 THEN %(cause)s::text ELSE '' END, a.answers, a.errors
FROM unnest(%(tenants)s::uuid[], %(answers)s::bigint[], %(errors)s::bigint[])
     AS a (tenant_id, answers, errors)

-- name: roll_up_hours
-- Adds up the starts and attempts of a stretch of minutes by hour and band, tenant by
-- tenant along the primary key of minute_stats. Counts of a minute only grow, so the greater figure
-- is the later one: a repeat and two sessions at once do no harm. Reads whole hours.
INSERT INTO objective_hours AS kept (tenant_id, hour, band, starts, attempts)
SELECT m.tenant_id, date_trunc('hour', m.minute, 'UTC'), c.place - 1, sum(c.starts),
       sum(c.attempts)
FROM tenants t
JOIN minute_stats m ON m.tenant_id = t.id AND m.minute >= %(since)s AND m.minute < %(until)s
CROSS JOIN LATERAL unnest(m.by_band[1:3], m.by_band[4:6])
     WITH ORDINALITY AS c (starts, attempts, place)
GROUP BY 1, 2, 3
HAVING sum(c.starts) + sum(c.attempts) > 0
ORDER BY 1, 2, 3
ON CONFLICT (tenant_id, hour, band) DO UPDATE
SET starts = greatest(kept.starts, EXCLUDED.starts),
    attempts = greatest(kept.attempts, EXCLUDED.attempts)

-- name: fold
-- Adds up single rows before a moment, ``most`` at most, to one of each hour, in one statement: a
-- reader sees them before or after. Rows that another fold has taken are left to it. Returns the
-- rows that went. Index objective_counts_age_idx.
WITH old AS MATERIALIZED (
    SELECT c.id FROM objective_counts c
    WHERE NOT c.hourly AND c.at < %(before)s
    ORDER BY c.at LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM objective_counts c WHERE c.id = ANY(ARRAY(SELECT o.id FROM old o))
    RETURNING c.*
), folded AS (
    INSERT INTO objective_counts (
        tenant_id, at, objective, band, cause, counted, bad, execution_id, hourly)
    SELECT g.tenant_id, date_trunc('hour', g.at, 'UTC'), g.objective, g.band, g.cause,
           sum(g.counted), sum(g.bad),
           (array_agg(g.execution_id ORDER BY g.at DESC, g.id DESC)
                FILTER (WHERE g.execution_id IS NOT NULL))[1], true
    FROM gone g
    GROUP BY 1, 2, 3, 4, 5
)
SELECT count(*) FROM gone

-- name: add_targets
-- Adds to the counts of tasks by day. One session at a time does it, the one that holds the
-- alerter's cursor. Primary key of target_days.
INSERT INTO target_days AS k (task_id, tenant_id, day, starts, late, runs, long)
SELECT c.task_id, c.tenant_id, c.day, c.starts, c.late, c.runs, c.long
FROM unnest(%(tasks)s::uuid[], %(tenants)s::uuid[], %(days)s::date[], %(starts)s::bigint[],
            %(late)s::bigint[], %(runs)s::bigint[], %(long)s::bigint[])
     AS c (task_id, tenant_id, day, starts, late, runs, long)
ORDER BY c.task_id, c.day
ON CONFLICT (task_id, day) DO UPDATE
SET starts = k.starts + excluded.starts, late = k.late + excluded.late,
    runs = k.runs + excluded.runs, long = k.long + excluded.long
