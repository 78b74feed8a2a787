-- name: insert_take
-- Inserts the execution of a run's next take, due now, and the run's row with the states of what is
-- kept. A take of a workflow with a limit waits for its place at the gate.
WITH made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds,
        incarnation, worker, held, gated, counted, error_code, error_message, sealed_payload,
        parent_id, trace_context, created_at, run_id, take)
    SELECT %(execution)s, t.tenant_id, t.id, t.partition, t.priority, t.pool, '', %(version)s,
           'PENDING', '', 'retry', %(scheduled_for)s, now(), 0, 1, 0, t.timeout_seconds, '', '',
           t.limited, t.limited, false, '', '', %(sealed_payload)s, %(parent)s, %(trace)s, now(),
           %(run)s, %(take)s
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
           %(states)s, %(takes)s, r.ends, %(sealed_input)s, r.scheduled_for, now(),
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

-- name: own_name
-- Lets one signal, or one step that begins to wait, look at a time for the other: both would miss
-- each other. Ends with the transaction.
SELECT pg_advisory_xact_lock(
    hashtextextended(concat_ws(' ', 'signal', %(tenant)s::text, %(name)s, %(correlation)s), 0))

-- name: named_waits
-- Returns the steps that wait for an event. Index workflow_waits_named_idx.
SELECT w.run_id, w.step, w.take FROM workflow_waits w
WHERE w.kind = 'event' AND w.tenant_id = %(tenant)s AND w.name = %(name)s
  AND w.correlation = %(correlation)s
ORDER BY w.run_id, w.step

-- name: tell_signal
-- Tells runs of the signal that their steps wait for.
INSERT INTO workflow_inbox (run_id, kind, step, item, take, sealed)
SELECT run_id, 'signal', step, -1, take, sealed
FROM unnest(%(runs)s::uuid[], %(steps)s::smallint[], %(takes)s::smallint[], %(sealed)s::bytea[])
    AS s (run_id, step, take, sealed)
