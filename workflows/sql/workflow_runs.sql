-- name: begin
-- Moves runs that are due from PENDING to RUNNING, under a token and a lease that never ends: no
-- worker has them, and the statements of workers and rescue pass over such a lease. Skips runs that
-- another session changes in this moment. Where some tenants have a limit, it begins the allowed
-- ones, those of tenants found without one, and those that a step or a retry has asked for. Index open_executions_to_begin_idx.
WITH due AS MATERIALIZED (
    SELECT e.id FROM open_executions e
    WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND NOT e.held
      AND e.due_at <= clock_timestamp() AND e.partition = ANY(%(partitions)s)
      AND (%(unlimited)s::uuid[] IS NULL OR e.tenant_id = ANY(%(unlimited)s::uuid[])
           OR e.run_id IS NOT NULL OR e.id = ANY(%(allowed)s::uuid[]))
    ORDER BY e.due_at LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), moved AS (
    UPDATE open_executions e
    SET status = 'RUNNING', attempt = 1, fencing_token = nextval('execution_token_seq'),
        started_at = clock_timestamp(), lease_expires_at = '9999-12-31T00:00:00Z',
        start_delay_ms = extract(epoch FROM clock_timestamp() - e.due_at)::float8 * 1000
    WHERE e.id = ANY(ARRAY(SELECT id FROM due))
    RETURNING e.*
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.started', array_agg(id), array_agg(task_id)
    FROM moved GROUP BY tenant_id
)
SELECT m.id, m.tenant_id, m.task_id, m.revision, m.partition, m.scheduled_for, m.started_at,
       m.sealed_payload, m.run_id, m.step, m.item, m.take, m.trigger
FROM moved m ORDER BY m.id

-- name: insert
-- Writes runs that begin with their first take, and notes that they have begun.
WITH given AS (
    SELECT * FROM unnest(
        %(ids)s::uuid[], %(executions)s::uuid[], %(tenants)s::uuid[], %(tasks)s::uuid[],
        %(versions)s::integer[], %(partitions)s::smallint[], %(states)s::bytea[],
        %(takes)s::bytea[], %(inputs)s::bytea[], %(scheduled_for)s::timestamptz[],
        %(began_at)s::timestamptz[], %(deadlines)s::timestamptz[], %(parents)s::uuid[],
        %(parent_steps)s::smallint[], %(parent_items)s::integer[], %(parent_takes)s::smallint[]
    ) AS g (id, execution_id, tenant_id, task_id, version, partition, states, takes, sealed_input,
            scheduled_for, began_at, deadline_at, parent_run, parent_step, parent_item, parent_take)
), made AS (
    INSERT INTO workflow_runs (
        id, execution_id, tenant_id, task_id, version, partition, take, phase, states, takes,
        sealed_input, scheduled_for, began_at, deadline_at, root_id, depth, parent_run, parent_step,
        parent_item, parent_take)
    SELECT g.id, g.execution_id, g.tenant_id, g.task_id, g.version, g.partition, 1, 'running',
           g.states, g.takes, g.sealed_input, g.scheduled_for, g.began_at, g.deadline_at,
           coalesce(p.root_id, g.id), coalesce(p.depth + 1, 0), g.parent_run, g.parent_step,
           g.parent_item, g.parent_take
    FROM given g LEFT JOIN workflow_runs p ON p.id = g.parent_run
), told AS (
    INSERT INTO workflow_inbox (run_id, kind) SELECT id, 'began' FROM given
)
INSERT INTO workflow_waits (run_id, step, item, kind, take, tenant_id, partition, began_at, due_at)
SELECT id, 0, -1, 'deadline', 1, tenant_id, partition, began_at, deadline_at FROM given

-- name: lock
-- Locks runs in order of their ids. Alone: what is judged is read by later statements, which see
-- what the sessions have written that this one waited for.
SELECT r.id FROM workflow_runs r WHERE r.id = ANY(%(runs)s) ORDER BY r.id FOR NO KEY UPDATE

-- name: read
-- Returns locked runs. Primary key.
SELECT r.id, r.execution_id, r.tenant_id, r.task_id, r.version, r.partition, r.take, r.phase,
       r.reason, r.states, r.takes, r.ends, r.first_failed, r.sealed_input, r.scheduled_for,
       r.began_at, r.deadline_at, r.root_id, r.depth, r.parent_run, r.parent_step, r.parent_item,
       r.parent_take
FROM workflow_runs r WHERE r.id = ANY(%(runs)s) ORDER BY r.id

-- name: take_inbox
-- Takes what has happened to locked runs, the oldest first. Index workflow_inbox_of_run_idx.
WITH taken AS (
    DELETE FROM workflow_inbox i
    WHERE i.id = ANY(ARRAY(
        SELECT w.id FROM workflow_inbox w WHERE w.run_id = ANY(%(runs)s)
        ORDER BY w.run_id, w.id LIMIT %(limit)s))
    RETURNING i.id, i.run_id, i.kind, i.step, i.item, i.take, i.execution_id, i.status, i.at
)
SELECT run_id, kind, step, item, take, execution_id, status, at FROM taken ORDER BY id

-- name: fans
-- Returns the fan-outs under way of locked runs. Primary key.
SELECT f.run_id, f.step, f.take, f.total, f.begun, f.succeeded, f.failed, f.skipped, f.began_at,
       f.sealed_items
FROM workflow_fans f WHERE f.run_id = ANY(%(runs)s)

-- name: waits
-- Returns what steps of locked runs wait for. Primary key.
SELECT w.run_id, w.step, w.item, w.kind, w.take, w.began_at, w.due_at
FROM workflow_waits w WHERE w.run_id = ANY(%(runs)s) AND w.step > 0

-- name: ended
-- Returns the facts of ended executions, with the result or the last answer of those whose output
-- is named. Primary keys of the days between the bounds; index attempts_of_execution_idx.
SELECT e.id, e.status, e.reason, e.error_code, e.error_message, e.started_at, e.finished_at,
       CASE WHEN n.named THEN e.sealed_result END, CASE WHEN n.named AND e.sealed_result IS NULL THEN (
           SELECT a.sealed_response FROM attempts a
           WHERE a.execution_id = e.id AND a.number = e.attempt
             AND a.id >= %(low)s AND a.id <= %(high)s
           ORDER BY a.id DESC LIMIT 1) END
FROM unnest(%(ids)s::uuid[], %(named)s::boolean[]) AS n (id, named)
JOIN ended_executions e ON e.id = n.id AND e.id >= %(low)s AND e.id <= %(high)s

-- name: outputs
-- Returns the outputs of ended steps of locked runs that are kept, of the take that counts. Index
-- workflow_steps_of_run_idx; the ids of steps lie in the day of their run.
SELECT s.run_id, s.step, s.sealed_output
FROM workflow_steps s
JOIN workflow_runs r ON r.id = s.run_id
WHERE s.run_id = ANY(%(runs)s) AND s.id >= %(low)s AND s.id < %(high)s AND s.item = -1
  AND s.sealed_output IS NOT NULL AND s.take = get_byte(r.takes, s.step)

-- part: with_output
-- The ends of a fan-out's items in these takes that have an output; of a kept item the end that it
-- repeats, which has the same place. Index workflow_steps_of_run_idx.
with_output AS (
    SELECT s.item, s.take, s.sealed_output FROM workflow_steps s
    WHERE s.run_id = %(run)s AND s.step = %(step)s AND s.item >= 0
      AND s.id >= %(low)s AND s.id < %(high)s AND s.sealed_output IS NOT NULL
      AND (s.take = ANY(%(takes)s) OR EXISTS (
          SELECT FROM workflow_steps k
          WHERE k.run_id = %(run)s AND k.step = %(step)s AND k.item = s.item
            AND k.id >= %(low)s AND k.id < %(high)s
            AND k.take = ANY(%(takes)s) AND k.reason = 'kept' AND k.place = s.place))
)

-- name: outputs_of_items
-- Returns the outputs of a fan-out's items, in their order, with the take that each is of.
WITH -- parts: with_output
SELECT item, take, sealed_output FROM with_output ORDER BY item, take

-- name: size_of_items
-- Returns how many outputs of a fan-out's items are kept, and their bytes. Index
-- workflow_steps_of_run_idx; the values themselves are not read.
WITH -- parts: with_output
SELECT count(*), coalesce(sum(octet_length(sealed_output)), 0)::bigint FROM with_output

-- name: succeeded_items
-- Returns the ends of a fan-out's items that have succeeded in a take. Index
-- workflow_steps_of_run_idx.
SELECT s.item, s.place, s.execution_id, s.started_at, s.finished_at, s.actor, s.note
FROM workflow_steps s
WHERE s.run_id = %(run)s AND s.step = %(step)s AND s.take = %(take)s AND s.item >= 0
  AND s.id >= %(low)s AND s.id < %(high)s AND s.status = 'SUCCEEDED'
ORDER BY s.item

-- name: kept_items
-- Returns which items of a fan-out a take has kept, from one to before another. Index
-- workflow_steps_of_run_idx.
SELECT s.item FROM workflow_steps s
WHERE s.run_id = %(run)s AND s.step = %(step)s AND s.take = %(take)s
  AND s.item >= %(first)s AND s.item < %(end)s
  AND s.id >= %(low)s AND s.id < %(high)s AND s.reason = 'kept'

-- name: ends_in_order
-- Returns step, take and error code of the ends of a run's steps, the last first. Index
-- workflow_steps_of_run_idx.
SELECT s.step, s.take, s.error_code FROM workflow_steps s
WHERE s.run_id = %(run)s AND s.item = -1 AND s.id >= %(low)s AND s.id < %(high)s
ORDER BY s.place DESC

-- name: insert_steps
-- Inserts executions of steps, due now; those whose place or tenant is paused are on hold. The id
-- of each is new.
WITH made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds,
        incarnation, worker, held, gated, error_code, error_message, sealed_payload, parent_id,
        created_at, run_id, step, item, take)
    SELECT s.id, s.tenant_id, s.task_id, s.partition, s.priority, s.pool, s.destination, s.revision,
           'PENDING', s.held_for, 'workflow', date_trunc('milliseconds', now()), now(), 0,
           s.max_attempts, 0, s.timeout_seconds, '', '', s.held_for <> '', false, '', '',
           s.sealed_payload, s.parent_id, now(), s.run_id, s.step, s.item, s.take
    FROM unnest(
        %(ids)s::uuid[], %(tenants)s::uuid[], %(tasks)s::uuid[], %(partitions)s::smallint[],
        %(priorities)s::smallint[], %(pools)s::text[], %(destinations)s::text[],
        %(revisions)s::integer[], %(max_attempts)s::smallint[], %(timeouts)s::float8[],
        %(payloads)s::bytea[], %(parents)s::uuid[], %(runs)s::uuid[], %(steps)s::smallint[],
        %(items)s::integer[], %(takes)s::smallint[], %(held_for)s::text[]
    ) AS s (id, tenant_id, task_id, partition, priority, pool, destination, revision, max_attempts,
            timeout_seconds, sealed_payload, parent_id, run_id, step, item, take, held_for)
    RETURNING id, tenant_id, task_id
)
INSERT INTO events (tenant_id, name, subjects, tasks)
SELECT tenant_id, 'execution.materialized', array_agg(id), array_agg(task_id)
FROM made GROUP BY tenant_id

-- name: append_ends
-- Appends the ends of steps; one that is there stays as it is.
INSERT INTO workflow_steps (
    id, run_id, tenant_id, step, item, take, status, reason, place, execution_id, started_at,
    finished_at, error_code, error_message, actor, note, sealed_output)
SELECT id, run_id, tenant_id, step, item, take, status, reason, place, execution_id, started_at,
       coalesce(finished_at, now()), error_code, error_message, actor, note, sealed_output
FROM unnest(
    %(ids)s::uuid[], %(runs)s::uuid[], %(tenants)s::uuid[], %(steps)s::smallint[],
    %(items)s::integer[], %(takes)s::smallint[], %(statuses)s::text[], %(reasons)s::text[],
    %(places)s::integer[], %(executions)s::uuid[], %(started_at)s::timestamptz[],
    %(finished_at)s::timestamptz[], %(error_codes)s::text[], %(error_messages)s::text[],
    %(actors)s::text[], %(notes)s::text[], %(outputs)s::bytea[]
) AS s (id, run_id, tenant_id, step, item, take, status, reason, place, execution_id, started_at,
        finished_at, error_code, error_message, actor, note, sealed_output)
ON CONFLICT (id) DO NOTHING

-- name: insert_waits
-- Writes what steps wait for. Seconds count from now; a deadline before now does not hold.
INSERT INTO workflow_waits (
    run_id, step, item, kind, take, tenant_id, partition, began_at, due_at, name, correlation)
SELECT run_id, step, item, kind, take, tenant_id, partition, now(),
       coalesce(due_at, now() + seconds * interval '1 second'), name, correlation
FROM unnest(
    %(runs)s::uuid[], %(steps)s::smallint[], %(items)s::integer[], %(kinds)s::text[],
    %(takes)s::smallint[], %(tenants)s::uuid[], %(partitions)s::smallint[],
    %(seconds)s::float8[], %(due_at)s::timestamptz[], %(names)s::text[], %(correlations)s::text[]
) AS w (run_id, step, item, kind, take, tenant_id, partition, seconds, due_at, name, correlation)
WHERE due_at IS NULL OR due_at > now()
ON CONFLICT (run_id, step, item, kind) DO UPDATE
SET take = EXCLUDED.take, began_at = EXCLUDED.began_at, due_at = EXCLUDED.due_at,
    name = EXCLUDED.name, correlation = EXCLUDED.correlation

-- name: delete_waits
-- Deletes what steps no longer wait for. Primary key.
DELETE FROM workflow_waits w
USING unnest(%(runs)s::uuid[], %(steps)s::smallint[]) AS g (run_id, step)
WHERE w.run_id = g.run_id AND w.step = g.step

-- name: put_fans
-- Writes fan-outs of locked runs as they are now.
INSERT INTO workflow_fans (
    run_id, step, take, total, begun, succeeded, failed, skipped, began_at, sealed_items)
SELECT run_id, step, take, total, begun, succeeded, failed, skipped, coalesce(began_at, now()),
       sealed_items
FROM unnest(
    %(runs)s::uuid[], %(steps)s::smallint[], %(takes)s::smallint[], %(totals)s::integer[],
    %(begun)s::integer[], %(succeeded)s::integer[], %(failed)s::integer[], %(skipped)s::integer[],
    %(began_at)s::timestamptz[], %(items)s::bytea[]
) AS f (run_id, step, take, total, begun, succeeded, failed, skipped, began_at, sealed_items)
ON CONFLICT (run_id, step) DO UPDATE
SET take = EXCLUDED.take, total = EXCLUDED.total, begun = EXCLUDED.begun,
    succeeded = EXCLUDED.succeeded, failed = EXCLUDED.failed, skipped = EXCLUDED.skipped,
    -- A value that did not change is not written anew: only the first write gives the items.
    sealed_items = CASE WHEN EXCLUDED.sealed_items = '' THEN workflow_fans.sealed_items
                        ELSE EXCLUDED.sealed_items END

-- name: delete_fans
-- Deletes fan-outs that have ended. Primary key.
DELETE FROM workflow_fans f
USING unnest(%(runs)s::uuid[], %(steps)s::smallint[]) AS g (run_id, step)
WHERE f.run_id = g.run_id AND f.step = g.step

-- name: update
-- Writes locked runs as they are now; no key changes. A run that waits or is paused moves without an
-- execution: an event tells consoles of it.
WITH given AS (
    SELECT * FROM unnest(
        %(ids)s::uuid[], %(phases)s::text[], %(reasons)s::text[], %(states)s::bytea[],
        %(takes)s::bytea[], %(ends)s::integer[], %(first_failed)s::smallint[], %(quiet)s::boolean[]
    ) AS g (id, phase, reason, states, takes, ends, first_failed, quiet)
), moved AS (
    UPDATE workflow_runs r
    SET phase = g.phase, reason = g.reason, states = g.states, takes = g.takes, ends = g.ends,
        first_failed = g.first_failed
    FROM given g WHERE r.id = g.id
    RETURNING r.tenant_id, r.id, r.task_id, g.quiet
)
INSERT INTO events (tenant_id, name, subject_id, task_id)
SELECT tenant_id, 'run.changed', id, task_id FROM moved WHERE quiet
