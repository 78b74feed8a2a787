-- name: listed
-- Returns the hosts that a tenant's tasks call, or that have limits, behind one and in their order,
-- with their limits and the number of tasks that call them. Counts all tasks of the tenant, or the
-- ones of given hosts; indexes tasks_by_tenant_idx and destination_is_one_row.
SELECT h.host, max(h.tasks), d.max_in_flight, d.rate_per_second, d.breaker, d.version
FROM (
    SELECT t.destination AS host, count(*) AS tasks FROM tasks t
    WHERE t.tenant_id = %(tenant)s AND t.deleted_at IS NULL AND t.destination > %(after)s
      AND t.status = ANY(%(calling)s::text[])
      AND (%(only)s::text[] IS NULL OR t.destination = ANY(%(only)s::text[]))
    GROUP BY t.destination
    UNION ALL
    SELECT own.host, 0 FROM destinations own
    WHERE own.tenant_id = %(tenant)s AND own.host > %(after)s
      AND (%(only)s::text[] IS NULL OR own.host = ANY(%(only)s::text[]))
) AS h
LEFT JOIN destinations d ON d.tenant_id = %(tenant)s AND d.host = h.host
WHERE (%(q)s::text IS NULL OR strpos(h.host, %(q)s::text) > 0 OR h.host = %(named)s::text)
  AND (%(limited)s::boolean IS NULL OR %(limited)s::boolean = (d.id IS NOT NULL AND (
        d.max_in_flight IS NOT NULL OR d.rate_per_second IS NOT NULL OR NOT d.breaker)))
GROUP BY h.host, d.max_in_flight, d.rate_per_second, d.breaker, d.version
ORDER BY h.host
LIMIT %(limit)s

-- name: work
-- Counts each host's work in flight, and its parked work up to a limit. Indexes
-- open_executions_leased_idx and open_executions_parked_idx.
SELECT w.host, coalesce(f.running, 0), p.parked
FROM unnest(%(hosts)s::text[]) AS w (host)
LEFT JOIN (
    SELECT e.destination, count(*) AS running FROM open_executions e
    WHERE e.status = 'RUNNING'
      AND e.tenant_id = %(tenant)s AND e.destination <> '' AND e.accepted_at IS NULL
    GROUP BY e.destination
) AS f ON f.destination = w.host
CROSS JOIN LATERAL (
    SELECT count(*) AS parked FROM (
        SELECT FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING')
          AND NOT e.held AND e.parked AND e.tenant_id = %(tenant)s AND e.destination = w.host
        LIMIT %(most)s
    ) AS counted
) AS p
