-- name: revise_tasks
-- Gives locked tasks their next version; type and schedule stay the same. By primary key.
UPDATE tasks t
SET version = r.version, name = r.name, labels = r.labels::jsonb, owner = r.owner,
    priority = r.priority, pool = r.pool, destination = r.destination,
    pause_after_failures = r.pause_after_failures, max_attempts = r.max_attempts,
    timeout_seconds = r.timeout_seconds, updated_at = %(now)s
FROM unnest(
    %(tasks)s::uuid[], %(versions)s::int[], %(names)s::text[], %(labels)s::text[],
    %(owners)s::text[], %(priorities)s::smallint[], %(pools)s::text[], %(destinations)s::text[],
    %(pause_after)s::int[], %(max_attempts)s::smallint[], %(timeouts)s::float8[]
) AS r (id, version, name, labels, owner, priority, pool, destination, pause_after_failures,
        max_attempts, timeout_seconds)
WHERE t.id = r.id
