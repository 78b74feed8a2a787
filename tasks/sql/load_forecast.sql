-- name: keyed
-- Tasks with the values that decide their instants, a part of the statements below; inside is the
-- query of the tasks. Beside the schedule these are: the start of a fixed rate without start_at
-- (creation modulo the step, in whole minutes where the step has those), the id where an H is
-- hashed, and the occurrences left by max_occurrences. The share within the jitter is that of
-- tasks/schedules/jitter.py.
SELECT t.id, t.schedule, t.destination,
       CASE WHEN s.every IS NULL THEN NULL
            WHEN mod(s.every, 60) = 0
            THEN mod(floor(extract(epoch FROM t.created_at) / 60)::bigint * 60, s.every)
            ELSE mod(floor(extract(epoch FROM t.created_at))::bigint, s.every)
       END AS phase,
       CASE WHEN t.schedule->>'cron_expression' ~ '(^|[ \t,])[Hh]' THEN t.id END AS seed,
       CASE WHEN t.schedule->>'max_occurrences' IS NOT NULL
            THEN (t.schedule->>'max_occurrences')::bigint - t.occurrence_count
       END AS remaining,
       CASE WHEN t.schedule->>'max_occurrences' IS NOT NULL THEN t.next_run_at END AS cursor,
       j.steps,
       CASE WHEN j.steps > 1
            THEN (get_byte(j.digest, 0) * 256 + get_byte(j.digest, 1)) * j.steps / 65536
            ELSE 0
       END AS step
FROM ({tasks}) AS t
CROSS JOIN LATERAL (
    SELECT CASE WHEN t.schedule->>'start_at' IS NULL
                THEN extract(epoch FROM
                     replace(upper(btrim(t.schedule->>'every')), ',', '.')::interval)::bigint
           END AS every
) AS s
CROSS JOIN LATERAL (
    SELECT greatest(1, least(1440, ceil((t.schedule->>'jitter_seconds')::float8 / 60)))::integer
               AS steps,
           CASE WHEN (t.schedule->>'jitter_seconds')::float8 > 60
                THEN sha256(convert_to('jitter:' || t.id, 'UTF8'))
           END AS digest
) AS j

-- name: groups
-- Groups tasks with the same instants, the largest groups first: a row for each key,
-- step within its jitter and destination, with the first three of its tasks. Index
-- task_cursors_of_tenant_idx, all of the tenant's tasks that are due in time. The last column
-- counts all tasks, also beyond the limit. (The order of the three is made after the grouping:
-- an ordered aggregate has no partial form, so the workers could not group in parallel.)
SELECT g.schedule, g.phase, g.seed, g.remaining, g.cursor, g.steps, g.step, g.destination,
       g.tasks, ARRAY(SELECT u.id FROM unnest(g.ids) AS u (id) ORDER BY u.id LIMIT 3), g.counted
FROM (
    SELECT k.schedule, k.phase, k.seed, k.remaining, k.cursor, k.steps, k.step, k.destination,
           count(*) AS tasks, array_agg(k.id) AS ids, sum(count(*)) OVER () AS counted
    FROM ({keyed}) AS k
    GROUP BY k.schedule, k.phase, k.seed, k.remaining, k.cursor, k.steps, k.step, k.destination
    ORDER BY count(*) DESC, k.schedule, k.phase, k.seed, k.remaining, k.cursor, k.steps, k.step,
             k.destination
    LIMIT %s
) AS g
ORDER BY g.tasks DESC, g.schedule, g.phase, g.seed, g.remaining, g.cursor, g.steps, g.step,
         g.destination

-- name: tasks_of_groups
-- The tasks of some groups, by the keys that the statement above returned.
SELECT k.id FROM ({keyed}) AS k
JOIN unnest(%s::jsonb[], %s::bigint[], %s::uuid[]) AS g (schedule, phase, seed)
  ON k.schedule = g.schedule AND k.phase IS NOT DISTINCT FROM g.phase
 AND k.seed IS NOT DISTINCT FROM g.seed
ORDER BY k.id
LIMIT %s

-- name: one_time
-- Counts the one-time tasks due in each minute, by destination, with the first three of them;
-- inside is the query of the tasks (index task_cursors_of_tenant_idx). The last column counts all
-- tasks, also beyond the limit.
SELECT g.minute, g.destination, g.tasks,
       ARRAY(SELECT u.id FROM unnest(g.ids) AS u (id) ORDER BY u.id LIMIT 3), g.counted
FROM (
    SELECT date_trunc('minute', d.due) AS minute, d.destination, count(*) AS tasks,
           array_agg(d.id) AS ids, sum(count(*)) OVER () AS counted
    FROM (
        SELECT t.id, t.destination,
               t.next_run_at + coalesce((t.schedule->>'jitter_seconds')::float8, 0)
               * (get_byte(j.digest, 0) * 256 + get_byte(j.digest, 1)) / 65536
               * interval '1 second' AS due
        FROM ({tasks}) AS t
        CROSS JOIN LATERAL (SELECT sha256(convert_to('jitter:' || t.id, 'UTF8')) AS digest) AS j
    ) AS d
    WHERE d.due >= %s AND d.due < %s
    GROUP BY 1, 2
    ORDER BY count(*) DESC, 1, 2
    LIMIT %s
) AS g
ORDER BY g.tasks DESC, g.minute, g.destination
