-- name: page
-- Returns the events of one tenant after a place, in the order of transactions, below the oldest
-- running one, so that none that commits late is skipped. One row for each record that is shown, with
-- the part of a batch that fits within the limit, which counts events; at least one row, without an
-- event when there is none. Reads a bounded number of records of any name. Index events_of_tenant_idx of
-- the days that the place allows: records of other tenants are not touched.
WITH scanned AS MATERIALIZED (
    SELECT e.xid, e.id, e.name, e.subject_id, e.task_id, e.data, e.at,
           -- Leave out the arrays of other names.
           CASE WHEN e.name = ANY(%(names)s) THEN e.subjects END AS subjects,
           CASE WHEN e.name = ANY(%(names)s) THEN e.tasks END AS tasks
    FROM events e
    WHERE e.tenant_id = %(tenant)s
      -- Selected, so that the planner does not compare them with old statistics: between two
      -- transactions that it does not know, the index of all consumers would look as cheap.
      AND (e.xid, e.id) > ((SELECT %(xid)s::text::xid8), %(event)s)
      AND e.xid < (SELECT pg_snapshot_xmin(pg_current_snapshot())) AND e.id >= %(low)s
    ORDER BY e.xid, e.id LIMIT %(scan)s
), last AS (
    SELECT xid, id, (SELECT count(*) FROM scanned) AS total
    FROM scanned ORDER BY xid DESC, id DESC LIMIT 1
), named AS (
    SELECT s.*, CASE WHEN s.id = %(cut)s THEN %(taken)s ELSE 0 END AS begin,
           coalesce(cardinality(s.subjects), 1) AS size
    FROM scanned s WHERE s.name = ANY(%(names)s) ORDER BY s.xid, s.id LIMIT %(limit)s + 1
), counted AS (
    SELECT n.*, sum(greatest(n.size - n.begin, 0)) OVER (ORDER BY n.xid, n.id)
                - greatest(n.size - n.begin, 0) AS before
    FROM named n
), shown AS (
    SELECT c.*, least(c.size, c.begin + %(limit)s - c.before)::integer AS stop
    FROM counted c WHERE c.before < %(limit)s AND c.begin < c.size
)
SELECT now(), pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
       last.total, last.xid::text::bigint, last.id,
       s.xid::text::bigint, s.id, s.name, s.at, s.subject_id, s.task_id,
       s.subjects[s.begin + 1:s.stop], s.tasks[s.begin + 1:s.stop], s.data, s.begin, s.stop, s.size
FROM (SELECT) AS always LEFT JOIN last ON true LEFT JOIN shown s ON true
ORDER BY s.xid, s.id

-- name: end
-- Returns the time and the oldest transaction that still runs: a new reader begins with it.
SELECT now(), pg_snapshot_xmin(pg_current_snapshot())::text::bigint
