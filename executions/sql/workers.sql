-- name: roll_up
-- Adds up the minutes of past hours to one row per worker and hour, from the hour after the latest
-- one that has a row, so that each minute is read once. Doing it twice changes nothing. Indexes
-- worker_hours_idx and worker_minutes_idx.
INSERT INTO worker_hours AS kept (
    worker, hour, tenant_id, pool, host, version, minutes, slots, running, most_running, held,
    most_held, cpu_percent, most_cpu_percent, most_memory_bytes, ended
)
SELECT m.worker, date_trunc('hour', m.minute, 'UTC'), (array_agg(m.tenant_id))[1],
       (array_agg(m.pool ORDER BY m.minute DESC))[1], (array_agg(m.host ORDER BY m.minute DESC))[1],
       (array_agg(m.version ORDER BY m.minute DESC))[1], count(*), max(m.slots), avg(m.running),
       max(m.running), avg(m.held), max(m.held), avg(m.cpu_percent), max(m.cpu_percent),
       max(m.memory_bytes), sum(m.ended_in_minute)
FROM worker_minutes m
WHERE m.minute >= coalesce((SELECT max(h.hour) + interval '1 hour' FROM worker_hours h),
                           '-infinity'::timestamptz)
  AND m.minute < date_trunc('hour', %(now)s::timestamptz, 'UTC')
GROUP BY 1, 2
ON CONFLICT (worker, hour) DO NOTHING

-- name: earlier
-- Returns the workers that were heard since a moment, each with its first and last hour and its
-- count of ended attempts, the latest first; of a tenant's own and of ours, or its own alone.
-- Index worker_hours_idx.
SELECT h.worker, (array_agg(h.pool ORDER BY h.hour DESC))[1],
       (array_agg(h.host ORDER BY h.hour DESC))[1], (array_agg(h.version ORDER BY h.hour DESC))[1],
       bool_or(h.tenant_id IS NOT NULL), min(h.hour), max(h.hour), sum(h.ended)::bigint
FROM worker_hours h
WHERE h.hour >= %(since)s
  AND (h.tenant_id IS NOT NULL OR NOT %(own)s)
  AND (h.tenant_id IS NULL OR %(tenant)s::uuid IS NULL OR h.tenant_id = %(tenant)s)
  AND (%(q)s::text = '' OR strpos(lower(h.worker), lower(%(q)s)) > 0)
GROUP BY h.worker
ORDER BY max(h.hour) DESC, h.worker
LIMIT %(limit)s
