-- name: minutes_of
-- Returns the minutes of tenants' shares from a moment on, by tenant, pool and minute. Index
-- share_minutes_idx, tenant by tenant.
SELECT s.tenant_id, s.pool, s.minute, s.due, s.received, s.oldest_wait FROM share_minutes s
WHERE s.tenant_id = ANY(%(tenants)s::uuid[]) AND s.minute >= %(since)s
ORDER BY s.tenant_id, s.pool, s.minute

-- name: sums_since
-- Returns the sums of all tenants' shares from a moment on, by pool, the longest waits first; the
-- last column counts the minutes. Index share_minute_is_one_row, by the minute.
SELECT s.tenant_id, s.pool, sum(s.due)::float8, sum(s.received)::bigint, max(s.oldest_wait),
       count(*)
FROM share_minutes s
WHERE s.minute >= %(since)s AND (%(tenant)s::uuid IS NULL OR s.tenant_id = %(tenant)s)
GROUP BY s.tenant_id, s.pool
ORDER BY s.pool, max(s.oldest_wait) DESC, s.tenant_id
LIMIT %(limit)s
