-- name: old_executions
-- Locks the next ended executions of a tenant before an id, in order of ids, without waiting. Leaves
-- out what belongs to an open run, whose steps it may still read, and restored days, which are kept
-- for a while. Index executions_of_tenant_idx of each day.
SELECT e.id FROM ended_executions e
WHERE e.tenant_id = %(tenant)s AND e.id > %(after)s AND e.id < %(before)s
  AND NOT EXISTS (SELECT FROM workflow_runs r WHERE r.id = coalesce(e.run_id, e.id))
  AND NOT EXISTS (
      SELECT FROM unnest(%(kept_from)s::uuid[], %(kept_to)s::uuid[]) AS k (low, high)
      WHERE e.id >= k.low AND e.id < k.high)
ORDER BY e.id LIMIT %(limit)s
FOR UPDATE OF e SKIP LOCKED

-- name: remove_attempts
-- Removes the attempts of executions, with their answers and logs. Index attempts_of_execution_idx of
-- the days between the bounds.
DELETE FROM attempts a
WHERE a.execution_id = ANY(%(ids)s::uuid[]) AND a.id >= %(low)s AND a.id < %(high)s

-- name: remove_steps
-- Removes the ends of steps of runs. Index workflow_steps_of_run_idx of the days between the bounds.
DELETE FROM workflow_steps s
WHERE s.run_id = ANY(%(ids)s::uuid[]) AND s.id >= %(low)s AND s.id < %(high)s

-- name: remove_runs
-- Removes ended runs, each of which has the id of its first take. Primary keys of the days between
-- the bounds.
DELETE FROM ended_workflow_runs r
WHERE r.id = ANY(%(ids)s::uuid[]) AND r.id >= %(low)s AND r.id < %(high)s

-- name: remove_executions
-- Removes locked ended executions. Primary keys of the days between the bounds.
DELETE FROM ended_executions e
WHERE e.id = ANY(%(ids)s::uuid[]) AND e.id >= %(low)s AND e.id < %(high)s

-- name: kept_days
-- Returns the days of the history (YYYYMMDD) whose comment keeps them for a while, such as restored
-- days.
SELECT right(c.relname::text, 8)
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_class p ON p.oid = i.inhparent
WHERE p.relname = 'ended_executions' AND pg_table_is_visible(c.oid)
  AND substring(obj_description(c.oid, 'pg_class')
                FROM 'kept until ([0-9]{4}-[0-9]{2}-[0-9]{2})')::date >= current_date

-- name: with_own_retention
-- Returns the tenants after one, in order of their ids, that may have a retention of their own.
-- Reads the tenants' table.
SELECT id, tier, quotas, unlimited FROM tenants
WHERE id > %(after)s
ORDER BY id LIMIT %(limit)s
