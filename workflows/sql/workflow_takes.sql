-- name: insert_take
-- Inserts the execution of a run's next take, due now, and the run's row with the states of what is
-- kept. A take of a workflow with a limit waits for its place at the gate.
WITH made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds,
        incarnation, worker, held, gated, counted, error_code, error_message, sealed_payload,
        parent_id, trace_context, created_at, run_id, take, concurrency_key, key_place)
    SELECT %(execution)s, t.tenant_id, t.id, t.partition, t.priority, t.pool, '', %(version)s,
           'PENDING', '', 'retry', %(scheduled_for)s, now(), 0, 1, 0, t.timeout_seconds, '', '',
           t.limited OR t.concurrency_key IS NOT NULL, t.limited, false, '', '',
           %(sealed_payload)s, %(parent)s, %(trace)s, now(), %(run)s, %(take)s, t.concurrency_key,
           CASE WHEN t.concurrency_key IS NOT NULL THEN 0 END
    FROM tasks t WHERE t.id = %(task)s
    RETURNING id, tenant_id, task_id, partition
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.materialized', ARRAY[id], ARRAY[task_id] FROM made
), again AS (
    INSERT INTO workflow_runs (
        id, execution_id, tenant_id, task_id, version, partition, take, phase, states, takes, ends,
        sealed_input, scheduled_for, began_at, deadline_at, root_id, depth, parent_run, parent_step,
        parent_item, parent_take)
    SELECT r.id, m.id, r.tenant_id, r.task_id, %(version)s, m.partition, %(take)s, 'running',
           %(states)s, %(takes)s, %(ends)s, %(sealed_input)s, r.scheduled_for, now(),
           now() + interval '30 days', r.root_id, r.depth, r.parent_run, r.parent_step,
           r.parent_item, r.parent_take
    FROM made m, ended_workflow_runs r WHERE r.id = %(run)s AND r.take = %(take)s - 1
)
SELECT id FROM made

-- name: begin_takes
-- After begin: gives takes whose rows are there the time of their begin and of their deadline, and
-- notes that they have begun.
WITH given AS (
    SELECT * FROM unnest(
        %(runs)s::uuid[], %(takes)s::smallint[], %(began_at)s::timestamptz[],
        %(deadlines)s::timestamptz[]
    ) AS g (id, take, began_at, deadline_at)
), moved AS (
    UPDATE workflow_runs r SET began_at = g.began_at, deadline_at = g.deadline_at
    FROM given g WHERE r.id = g.id AND r.take = g.take
    RETURNING r.id, r.take, r.tenant_id, r.partition, r.began_at, r.deadline_at
), told AS (
    INSERT INTO workflow_inbox (run_id, kind, take) SELECT id, 'began', take FROM moved
)
INSERT INTO workflow_waits (run_id, step, item, kind, take, tenant_id, partition, began_at, due_at)
SELECT id, 0, -1, 'deadline', take, tenant_id, partition, began_at, deadline_at FROM moved

-- name: insert_children
-- Inserts runs of the workflows that steps begin, due now, by their latest version: through the gate
-- where they have a limit, and on hold while their task is paused, or their tenant is suspended.
-- One under a run that has a place of the same key takes no other: they would wait for each other.
WITH made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds,
        incarnation, worker, held, gated, error_code, error_message, sealed_payload, parent_id,
        created_at, run_id, step, item, take, concurrency_key, key_place)
    SELECT c.id, t.tenant_id, t.id, t.partition, greatest(t.priority, c.priority), t.pool, '',
           t.version, 'PENDING', w.reason, 'workflow', date_trunc('milliseconds', now()), now(), 0,
           1, 0, t.timeout_seconds, '', '', t.limited OR t.status = 'PAUSED' OR w.reason <> ''
               OR k.key IS NOT NULL,
           t.limited AND w.reason = '', '', '', c.sealed_payload, c.parent_id, now(), c.run_id,
           c.step, c.item, c.take, k.key, CASE WHEN k.key IS NOT NULL
               THEN -(t.status = 'PAUSED' OR w.reason <> '')::integer END
    FROM unnest(
        %(ids)s::uuid[], %(tenants)s::uuid[], %(tasks)s::uuid[], %(priorities)s::smallint[],
        %(payloads)s::bytea[], %(parents)s::uuid[], %(runs)s::uuid[], %(steps)s::smallint[],
        %(items)s::integer[], %(takes)s::smallint[]
    ) AS c (id, tenant_id, task_id, priority, sealed_payload, parent_id, run_id, step, item, take)
    JOIN tasks t ON t.id = c.task_id AND t.tenant_id = c.tenant_id
    JOIN tenants o ON o.id = c.tenant_id
    CROSS JOIN LATERAL (
        SELECT CASE WHEN o.suspended_at IS NOT NULL AND t.status <> 'PAUSED'
                    THEN 'tenant_suspended' ELSE '' END AS reason
    ) AS w
    CROSS JOIN LATERAL (
        SELECT CASE WHEN t.concurrency_key IS NOT NULL AND NOT EXISTS (
            WITH RECURSIVE above AS (
                SELECT r.execution_id, r.parent_run FROM workflow_runs r WHERE r.id = c.run_id
                UNION ALL
                SELECT r.execution_id, r.parent_run
                FROM above a JOIN workflow_runs r ON r.id = a.parent_run
            )
            SELECT FROM above a JOIN open_executions p ON p.id = a.execution_id
            WHERE p.concurrency_key = t.concurrency_key AND p.key_place > 0
        ) THEN t.concurrency_key END AS key
    ) AS k
    RETURNING id, tenant_id, task_id
), counted AS (
    INSERT INTO metric_totals (series, counts)
    SELECT ARRAY['scheduled/workflow'], ARRAY[count(*)] FROM made HAVING count(*) > 0
)
INSERT INTO events (tenant_id, name, subjects, tasks)
SELECT tenant_id, 'execution.materialized', array_agg(id), array_agg(task_id)
FROM made GROUP BY tenant_id

-- name: ancestors
-- Returns the tasks of a run and of the runs whose steps it is, up to the root. Primary key.
WITH RECURSIVE above AS (
    SELECT r.task_id, r.parent_run FROM workflow_runs r WHERE r.id = %(run)s
    UNION ALL
    SELECT r.task_id, r.parent_run FROM above a JOIN workflow_runs r ON r.id = a.parent_run
)
SELECT task_id FROM above

-- name: want
-- Keeps the wish for a next take until the run, which is being cancelled, has ended; the latest wish
-- counts.
INSERT INTO workflow_retries (run_id, tenant_id, partition, sealed)
VALUES (%(run)s, %(tenant)s, %(partition)s, %(sealed)s)
ON CONFLICT (run_id) DO UPDATE SET sealed = EXCLUDED.sealed

-- name: forget_wanted
-- Forgets the wish for a next take of a run. Primary key.
DELETE FROM workflow_retries w WHERE w.run_id = %(run)s

-- name: take_wanted
-- Takes the wish for the next take of a run that has ended. Primary keys.
DELETE FROM workflow_retries w
WHERE w.run_id = %(run)s AND NOT EXISTS (SELECT FROM workflow_runs r WHERE r.id = w.run_id)
RETURNING w.sealed

-- name: wanted_of
-- Returns which of these runs have ended and wait for their next take. Primary keys.
SELECT w.run_id, w.tenant_id FROM workflow_retries w
WHERE w.run_id = ANY(%(runs)s) AND NOT EXISTS (SELECT FROM workflow_runs r WHERE r.id = w.run_id)
ORDER BY w.run_id

-- name: wanted_in
-- Returns runs of these partitions that have ended and wait for their next take. The table holds
-- little, and is read whole.
SELECT w.run_id, w.tenant_id FROM workflow_retries w
WHERE w.partition = ANY(%(partitions)s)
  AND NOT EXISTS (SELECT FROM workflow_runs r WHERE r.id = w.run_id)
ORDER BY w.at LIMIT %(limit)s
