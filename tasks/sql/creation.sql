-- name: insert_tasks
-- Inserts new tasks of a tenant, each with its cursor and first revision. Returns whether the
-- tenant has an open pause that may cover them, and what makes up its limits. The caller shares the
-- tenant's pauses, so that none begins, and no limit changes, until it commits.
WITH given AS (
    SELECT * FROM unnest(
        %(ids)s::uuid[], %(names)s::text[], %(types)s::text[], %(statuses)s::text[],
        %(partitions)s::smallint[], %(priorities)s::smallint[], %(schedules)s::text[],
        %(labels)s::text[], %(pools)s::text[], %(destinations)s::text[],
        %(next_run_at)s::timestamptz[], %(pause_after_failures)s::integer[],
        %(definitions)s::text[], %(sealed)s::bytea[], %(changed_by)s::text[],
        %(traces)s::text[], %(owners)s::text[], %(max_attempts)s::smallint[],
        %(timeouts)s::float8[], %(limited)s::boolean[], %(keys)s::text[],
        %(key_limits)s::smallint[], %(in_order)s::boolean[], %(execution_ids)s::uuid[]
    ) AS g (id, name, type, status, partition, priority, schedule, labels, pool, destination,
            next_run_at, pause_after_failures, definition, sealed, changed_by, trace, owner,
            max_attempts, timeout_seconds, limited, key, key_limit, in_order, execution_id)
), made AS (
    INSERT INTO tasks (
        id, tenant_id, name, type, status, version, partition, priority, schedule, labels, pool,
        destination, pause_note, on_resume, failure_streak,
        pause_after_failures, last_execution_status, trace_context, created_at, updated_at,
        owner, max_attempts, timeout_seconds, limited, concurrency_key, concurrency_max,
        concurrency_fifo
    )
    SELECT id, %(tenant)s, name, type, status, 1, partition, priority, schedule::jsonb,
           labels::jsonb, pool, destination, '', 'skip', 0,
           pause_after_failures, '', nullif(trace, ''), %(now)s, %(now)s, owner,
           max_attempts, timeout_seconds, limited, key, key_limit,
           CASE WHEN key IS NOT NULL THEN in_order END
    FROM given
), ahead AS (
    INSERT INTO task_cursors (task_id, tenant_id, partition, next_run_at, occurrence_count, held,
                              execution_id)
    SELECT id, %(tenant)s, partition, next_run_at, 0, status <> 'SCHEDULED', execution_id
    FROM given WHERE type <> 'ONE_TIME' OR next_run_at IS NOT NULL
), revised AS (
    INSERT INTO task_revisions (task_id, version, definition, sealed, changed_by, created_at)
    SELECT id, 1, definition::jsonb, sealed, changed_by, %(now)s FROM given
)
SELECT EXISTS (SELECT FROM pauses p WHERE p.tenant_id = %(tenant)s AND p.ended_at IS NULL),
       t.tier, t.quotas, t.unlimited
FROM tenants t WHERE t.id = %(tenant)s
