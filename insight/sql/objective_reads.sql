-- name: figures_of
-- Returns totals and misses by objective, band (NULL: none is known) and window, of
-- tenants: stored hours before a moment, and from then on minutes, so that short windows are exact
-- at any time. The last window is the longest. Primary keys of objective_hours and minute_stats,
-- index objective_counts_idx; of each tenant it reads 720 hours and 2,880 minutes at most, and what
-- has missed an objective.
WITH ended AS (
    SELECT m.minute AS at, (c.place - 1)::smallint AS band, c.starts::bigint AS starts,
           c.attempts::bigint AS attempts
    FROM minute_stats m
    CROSS JOIN LATERAL unnest(m.by_band[1:3], m.by_band[4:6])
         WITH ORDINALITY AS c (starts, attempts, place)
    WHERE m.tenant_id = ANY(%(tenants)s::uuid[]) AND m.minute >= %(live)s::timestamptz
    UNION ALL
    SELECT h.hour, h.band, h.starts, h.attempts
    FROM objective_hours h
    WHERE h.tenant_id = ANY(%(tenants)s::uuid[]) AND h.hour >= %(oldest)s::timestamptz
      AND h.hour < %(live)s::timestamptz
), figures AS (
    SELECT e.at, o.objective, e.band, o.total, 0::bigint AS bad
    FROM ended e
    CROSS JOIN LATERAL (VALUES ('start', e.starts), ('success', e.attempts)) AS o (objective, total)
    UNION ALL
    SELECT b.at, b.objective, b.band, b.counted, b.bad
    FROM objective_counts b
    WHERE b.tenant_id = ANY(%(tenants)s::uuid[]) AND b.at >= %(oldest)s::timestamptz
)
SELECT f.objective, f.band, w.place::integer, sum(f.total)::bigint, sum(f.bad)::bigint
FROM figures f
JOIN unnest(%(since)s::timestamptz[]) WITH ORDINALITY AS w (since, place) ON f.at >= w.since
GROUP BY 1, 2, 3

-- name: causes_of
-- Returns what has missed the objectives of tenants since a moment, by cause, the most first, with
-- the latest time and a late example; a row below zero takes off what an earlier one has counted.
-- Index objective_counts_idx.
SELECT b.objective, b.cause, sum(b.bad)::bigint, max(b.at),
       (array_agg(b.execution_id ORDER BY b.at DESC, b.execution_id)
            FILTER (WHERE b.execution_id IS NOT NULL))[1]
FROM objective_counts b
WHERE b.tenant_id = ANY(%(tenants)s::uuid[]) AND b.at >= %(oldest)s::timestamptz AND b.bad <> 0
GROUP BY b.objective, b.cause
HAVING sum(b.bad) > 0
ORDER BY 3 DESC, 2

-- name: targets_of
-- Returns the tasks of a tenant that have targets, or one of them, with what they counted in some
-- days and on the last of these, those that missed most first. Index target_days_of_tenant_idx, or
-- the primary key of target_days; index task_revisions_targets_idx.
SELECT s.id, s.name, (r.definition #>> '{targets,start_within_seconds}')::float8,
       (r.definition #>> '{targets,max_duration_seconds}')::float8,
       d.starts, d.late, d.runs, d.long, d.day_starts, d.day_late, d.day_runs, d.day_long
FROM (
    SELECT t.task_id, sum(t.starts)::bigint AS starts, sum(t.late)::bigint AS late,
           sum(t.runs)::bigint AS runs, sum(t.long)::bigint AS long,
           coalesce(sum(t.starts) FILTER (WHERE t.day = o.today), 0)::bigint AS day_starts,
           coalesce(sum(t.late) FILTER (WHERE t.day = o.today), 0)::bigint AS day_late,
           coalesce(sum(t.runs) FILTER (WHERE t.day = o.today), 0)::bigint AS day_runs,
           coalesce(sum(t.long) FILTER (WHERE t.day = o.today), 0)::bigint AS day_long
    FROM target_days t
    CROSS JOIN (SELECT (%(now)s::timestamptz AT TIME ZONE 'UTC')::date AS today) AS o
    WHERE t.tenant_id = %(tenant)s AND t.day > o.today - %(days)s::integer
      AND (%(task)s::uuid IS NULL OR t.task_id = %(task)s)
    GROUP BY t.task_id
) AS d
JOIN tasks s ON s.id = d.task_id AND s.deleted_at IS NULL
JOIN task_revisions r ON r.task_id = s.id AND r.version = s.version AND r.definition ? 'targets'
WHERE jsonb_path_exists(r.definition, '$.targets.* ? (@ != null)')
ORDER BY d.late + d.long DESC, s.name, s.id
LIMIT %(most)s
