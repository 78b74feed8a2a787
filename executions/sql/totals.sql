-- name: add
-- Adds to the totals, by a new row: no session waits for another one, and nothing is looked up.
INSERT INTO metric_totals (series, counts) VALUES (%(series)s::text[], %(counts)s::bigint[])

-- name: read
-- Returns each total. The table has a row for each transaction that counted since the last fold.
SELECT u.series, sum(u.count)::bigint
FROM metric_totals m CROSS JOIN LATERAL unnest(m.series, m.counts) AS u (series, count)
GROUP BY u.series

-- name: fold
-- Adds up rows, ``most`` at most, to one, in one statement: a reader sees them before or after. Rows
-- that another fold has taken are left to it; a single row stays as it is. Returns how many rows went.
WITH old AS MATERIALIZED (
    SELECT m.ctid AS place FROM metric_totals m
    WHERE (SELECT count(*) FROM (SELECT FROM metric_totals LIMIT 2) AS few) > 1
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM metric_totals m WHERE m.ctid = ANY(ARRAY(SELECT o.place FROM old o))
    RETURNING m.series, m.counts
), folded AS (
    INSERT INTO metric_totals (series, counts)
    SELECT array_agg(s.series), array_agg(s.count)
    FROM (
        SELECT u.series, sum(u.count)::bigint AS count
        FROM gone g CROSS JOIN LATERAL unnest(g.series, g.counts) AS u (series, count)
        GROUP BY u.series
    ) AS s
    HAVING count(*) > 0
)
SELECT count(*) FROM gone
