-- name: roll_up_days
-- Adds up the minutes of a stretch, tenant by tenant along the primary key of minute_stats, and
-- stores their sums. Counts of a minute only grow, so the greater figure is the later one: a repeat
-- and two sessions at once do no harm, and a minute that is written again after its day was pruned
-- takes nothing away. Reads whole days: the caller begins and ends at midnight in UTC.
INSERT INTO usage_days AS kept (
    tenant_id, day, started, succeeded, failed, cancelled, attempts, execution_ms, recorded_bytes,
    runs_succeeded, runs_failed
)
SELECT m.tenant_id, (m.minute AT TIME ZONE 'UTC')::date, sum(m.started), sum(m.succeeded),
       sum(m.failed), sum(m.cancelled), sum(m.attempts), sum(m.execution_ms),
       sum(m.recorded_bytes), sum(m.runs_succeeded), sum(m.runs_failed)
FROM tenants t
JOIN minute_stats m ON m.tenant_id = t.id AND m.minute >= %(since)s AND m.minute < %(until)s
GROUP BY 1, 2
ORDER BY 1, 2
ON CONFLICT (tenant_id, day) DO UPDATE
SET started = greatest(kept.started, EXCLUDED.started),
    succeeded = greatest(kept.succeeded, EXCLUDED.succeeded),
    failed = greatest(kept.failed, EXCLUDED.failed),
    cancelled = greatest(kept.cancelled, EXCLUDED.cancelled),
    attempts = greatest(kept.attempts, EXCLUDED.attempts),
    execution_ms = greatest(kept.execution_ms, EXCLUDED.execution_ms),
    recorded_bytes = greatest(kept.recorded_bytes, EXCLUDED.recorded_bytes),
    runs_succeeded = greatest(kept.runs_succeeded, EXCLUDED.runs_succeeded),
    runs_failed = greatest(kept.runs_failed, EXCLUDED.runs_failed)
