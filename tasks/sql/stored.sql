-- name: tasks
-- Returns how many tasks of a tenant are not deleted. Index tasks_by_tenant_idx, no rows of the table.
SELECT count(*) FROM tasks WHERE tenant_id = %(tenant)s AND deleted_at IS NULL

-- name: payload_bytes
-- Returns the bytes of the sealed parts of all versions of the tenant's tasks that are not deleted,
-- without reading these parts. Index tasks_by_tenant_idx; the versions by their tasks.
SELECT coalesce(sum(octet_length(r.sealed)), 0)::bigint
FROM tasks t JOIN task_revisions r ON r.task_id = t.id
WHERE t.tenant_id = %(tenant)s AND t.deleted_at IS NULL

-- name: runs_in_flight
-- Returns how many runs of workflows of a tenant have begun and not ended, without those that a step
-- asked for. Index workflow_runs_of_tenant_idx.
SELECT count(*) FROM workflow_runs r WHERE r.tenant_id = %(tenant)s AND r.parent_run IS NULL

-- name: steps_in_flight
-- Returns how many steps of a tenant's runs have begun and not ended, without those on hold. Indexes
-- workflow_runs_of_tenant_idx and open_executions_of_run_idx.
SELECT count(*) FROM workflow_runs r
JOIN open_executions e ON e.run_id = r.id
WHERE r.tenant_id = %(tenant)s AND e.step IS NOT NULL AND e.pool <> 'workflow'
  AND (e.status IN ('QUEUED', 'RUNNING') OR NOT e.held)

-- name: limited
-- Returns some tenants after one, in the order of their ids, that may have limits or had some: with
-- their tier, their own limits and the quotas that were near. Reads the tenants' table.
SELECT id, tier, quotas, quotas_near, unlimited FROM tenants
WHERE id > %(after)s
  AND (%(everyone)s OR tier <> %(default)s OR quotas <> '{}' OR quotas_near <> '{}')
ORDER BY id LIMIT %(limit)s

-- name: patience
-- Returns how long a statement of this session may take.
SELECT current_setting('statement_timeout')

-- name: be_patient
-- Sets how long a statement may take until the transaction ends, or rolls back to a savepoint.
SELECT set_config('statement_timeout', %(patience)s, true)
