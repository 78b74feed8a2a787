-- name: days_of
-- Returns the usage of tenants by day, days without any left out: stored days before a moment,
-- and from then on the sums of minutes, so that the last two days are exact at any time. Primary
-- keys of usage_days and minute_stats; of minutes it reads 2,880 a tenant at most.
SELECT d.tenant_id, d.day, d.started, d.succeeded, d.failed, d.cancelled, d.attempts,
       d.execution_ms, d.recorded_bytes, d.runs_succeeded, d.runs_failed
FROM usage_days d
WHERE d.tenant_id = ANY(%(tenants)s::uuid[]) AND d.day >= %(first)s::date
  AND d.day <= %(last)s::date AND d.day < (%(live)s::timestamptz AT TIME ZONE 'UTC')::date
UNION ALL
SELECT m.tenant_id, (m.minute AT TIME ZONE 'UTC')::date, sum(m.started)::bigint,
       sum(m.succeeded)::bigint, sum(m.failed)::bigint, sum(m.cancelled)::bigint,
       sum(m.attempts)::bigint, sum(m.execution_ms)::bigint, sum(m.recorded_bytes)::bigint,
       sum(m.runs_succeeded)::bigint, sum(m.runs_failed)::bigint
FROM minute_stats m
WHERE m.tenant_id = ANY(%(tenants)s::uuid[]) AND m.minute >= %(live)s::timestamptz
  AND (m.minute AT TIME ZONE 'UTC')::date BETWEEN %(first)s::date AND %(last)s::date
GROUP BY 1, 2
ORDER BY 1, 2
