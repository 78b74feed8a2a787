-- name: table_sizes
-- Returns each table with its size in bytes, indexes and long values included, an estimate of its
-- rows, and how many days it has; a day counts as the table that it is a part of. The largest come
-- first. Reads the catalogue and the sizes of files, and no row.
SELECT r.relname::text, sum(pg_total_relation_size(c.oid))::bigint,
       sum(greatest(c.reltuples, 0))::bigint, count(*) FILTER (WHERE c.oid <> r.oid)
FROM pg_class c
JOIN pg_class r ON r.oid = coalesce(pg_partition_root(c.oid), c.oid)
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
GROUP BY r.relname
ORDER BY 2 DESC, 1

-- name: takeovers
-- Returns the last takeovers of partitions that had no scheduler for more than a second: when, who
-- had them, who took them, how many, and since when the first of them was without a scheduler. A
-- takeover has one row for each partition. By the primary key, from its end.
WITH newest AS (
    SELECT u.since, u.until, u.lost_by, u.taken_by FROM unowned_stretches u
    ORDER BY u.id DESC LIMIT %(stretches)s
)
SELECT n.until, n.lost_by, n.taken_by, count(*), min(n.since)
FROM newest n
GROUP BY n.until, n.lost_by, n.taken_by
ORDER BY n.until DESC, n.lost_by, n.taken_by LIMIT %(most)s

-- name: lost_attempts
-- Returns how many attempts were lost with a worker, of all tenants, by minute, and by hour where
-- minutes have been added up; the latest first. Index objective_counts_age_idx.
SELECT c.at, c.hourly, sum(c.bad)::bigint FROM objective_counts c
WHERE c.hourly IN (false, true) AND c.at >= %(since)s
  AND c.objective = 'success' AND c.cause = 'worker_lost'
GROUP BY c.at, c.hourly
ORDER BY c.at DESC, c.hourly LIMIT %(most)s
