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
