-- name: waiting
-- Returns up to ``limit`` priorities of tenants with waiting work for a pool's workers, behind one:
-- jumps from one to the next; of each the first due time, and whether that is within the window.
-- Index open_executions_flow_idx.
WITH RECURSIVE found AS (
    (SELECT e.tenant_id, e.priority, e.due_at FROM open_executions e
     WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
       AND e.pool = %(pool)s AND e.pool NOT LIKE 'pull.%%'
       AND (e.tenant_id, e.priority) > (%(tenant)s::uuid, %(priority)s::smallint)
     ORDER BY e.tenant_id, e.priority, e.due_at LIMIT 1)
    UNION ALL
    SELECT n.tenant_id, n.priority, n.due_at FROM found f CROSS JOIN LATERAL (
        SELECT e.tenant_id, e.priority, e.due_at FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.pool = %(pool)s AND e.pool NOT LIKE 'pull.%%'
          AND (e.tenant_id, e.priority) > (f.tenant_id, f.priority)
        ORDER BY e.tenant_id, e.priority, e.due_at LIMIT 1
    ) AS n
)
SELECT tenant_id, priority, due_at,
       CASE WHEN due_at <= now() THEN extract(epoch FROM now() - due_at)::float8 END,
       due_at <= now() + %(window)s * interval '1 second'
FROM found LIMIT %(limit)s

-- name: waiting_from
-- Returns the same of all priorities, for use where finished work cannot be cleaned up: of the
-- ``known`` ones, given in order, only work from a moment on is searched. Others are searched
-- between them, so that no entry of a known one's finished work is stepped over. Keep the
-- comparisons of rows, which the index of due times cannot serve. Index open_executions_flow_idx.
WITH RECURSIVE known AS MATERIALIZED (
    SELECT * FROM unnest(
        %(tenants)s::uuid[], %(priorities)s::smallint[], %(since)s::timestamptz[]
    ) WITH ORDINALITY AS k (tenant_id, priority, since, place)
), gaps AS MATERIALIZED (
    SELECT coalesce(a.tenant_id, '00000000-0000-0000-0000-000000000000') AS after_tenant,
           coalesce(a.priority, -1)::smallint AS after,
           coalesce(b.tenant_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS tenant,
           coalesce(b.priority, 10)::smallint AS before
    FROM known a FULL JOIN known b ON b.place = a.place + 1
), others AS (
    SELECT g.tenant, g.before, n.tenant_id, n.priority, n.due_at
    FROM gaps g CROSS JOIN LATERAL (
        SELECT e.tenant_id, e.priority, e.due_at FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.pool = %(pool)s AND e.pool NOT LIKE 'pull.%%'
          AND (e.tenant_id, e.priority) > (g.after_tenant, g.after)
          AND (e.tenant_id, e.priority) < (g.tenant, g.before)
        ORDER BY e.tenant_id, e.priority, e.due_at LIMIT 1
    ) AS n
    UNION ALL
    SELECT o.tenant, o.before, n.tenant_id, n.priority, n.due_at
    FROM others o CROSS JOIN LATERAL (
        SELECT e.tenant_id, e.priority, e.due_at FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.pool = %(pool)s AND e.pool NOT LIKE 'pull.%%'
          AND (e.tenant_id, e.priority) > (o.tenant_id, o.priority)
          AND (e.tenant_id, e.priority) < (o.tenant, o.before)
        ORDER BY e.tenant_id, e.priority, e.due_at LIMIT 1
    ) AS n
), found AS (
    SELECT tenant_id, priority, due_at FROM others
    UNION ALL
    SELECT k.tenant_id, k.priority, n.due_at FROM known k CROSS JOIN LATERAL (
        SELECT e.due_at FROM open_executions e
        WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
          AND e.pool = %(pool)s AND e.pool NOT LIKE 'pull.%%'
          AND (e.tenant_id, e.priority, e.due_at) >= (k.tenant_id, k.priority, k.since)
          AND (e.tenant_id, e.priority) <= (k.tenant_id, k.priority)
        ORDER BY e.tenant_id, e.priority, e.due_at LIMIT 1
    ) AS n
)
SELECT tenant_id, priority, due_at,
       CASE WHEN due_at <= now() THEN extract(epoch FROM now() - due_at)::float8 END,
       due_at <= now() + %(window)s * interval '1 second'
FROM found ORDER BY tenant_id, priority

-- name: add_minute
-- Adds the places and the longest wait of tenants to the minute that was under way ``age`` seconds
-- ago; a tenant that was removed meanwhile gets none. Schedulers add to the same rows: they are
-- written in one order. Index share_minute_is_one_row.
INSERT INTO share_minutes AS kept (minute, pool, tenant_id, due, received, oldest_wait)
SELECT date_trunc('minute', now() - %(age)s * interval '1 second', 'UTC'), a.pool, a.tenant_id,
       a.due, a.received, a.oldest_wait
FROM unnest(
    %(pools)s::text[], %(tenants)s::uuid[], %(due)s::float8[], %(received)s::bigint[],
    %(waits)s::float8[]
) AS a (pool, tenant_id, due, received, oldest_wait)
JOIN tenants t ON t.id = a.tenant_id
ORDER BY a.pool, a.tenant_id
ON CONFLICT (minute, pool, tenant_id) DO UPDATE
SET due = kept.due + EXCLUDED.due, received = kept.received + EXCLUDED.received,
    oldest_wait = greatest(kept.oldest_wait, EXCLUDED.oldest_wait)
