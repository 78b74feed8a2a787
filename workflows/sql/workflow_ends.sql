-- name: end_runs
-- Moves runs from RUNNING to their end, in the history, or from PENDING those that never begin, and
-- tells the run whose step one was. The columns are those of complete/cancel, with the tenant.
WITH given AS (
    SELECT * FROM unnest(
        %(ids)s::uuid[], %(statuses)s::text[], %(reasons)s::text[], %(error_codes)s::text[],
        %(error_messages)s::text[], %(results)s::bytea[]
    ) AS g (id, status, reason, error_code, error_message, sealed_result)
), gone AS (
    DELETE FROM open_executions e
    WHERE e.id = ANY(%(ids)s::uuid[]) AND e.pool = 'workflow' AND e.status = %(before)s
    RETURNING e
), kept AS (
    INSERT INTO ended_executions
    SELECT r.* FROM gone d JOIN given g ON g.id = (d.e).id
    CROSS JOIN LATERAL jsonb_populate_record(d.e, jsonb_build_object(
        'status', g.status, 'reason', g.reason, 'finished_at', now(), 'lease_expires_at', NULL,
        'error_code', g.error_code, 'error_message', g.error_message,
        'sealed_result', g.sealed_result, 'key_place', NULL, 'gated', false)) AS r
    ON CONFLICT (id) DO NOTHING RETURNING id
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT (d.e).tenant_id, 'execution.' || lower(g.status), (d.e).id, (d.e).task_id
    FROM gone d JOIN given g ON g.id = (d.e).id
), told AS (
    INSERT INTO workflow_inbox (run_id, kind, step, item, take, execution_id, status)
    SELECT (d.e).run_id, 'ended', (d.e).step, (d.e).item, (d.e).take, (d.e).id, g.status
    FROM gone d JOIN given g ON g.id = (d.e).id WHERE (d.e).step IS NOT NULL
)
SELECT (d.e).id, (d.e).tenant_id, g.status, (d.e).task_id, (d.e).trigger, (d.e).revision, now(),
       CASE WHEN (d.e).counted OR (d.e).key_place > 0 THEN (d.e).task_id END,
       CASE WHEN (d.e).step IS NOT NULL THEN (d.e).run_id END, g.reason, (d.e).trace_context,
       (d.e).id IN (SELECT id FROM kept)
FROM gone d JOIN given g ON g.id = (d.e).id

-- name: archive_runs
-- Moves the rows of runs whose take has ended to the history, by the day of the run, with all that
-- they waited for.
WITH given AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(statuses)s::text[], %(reasons)s::text[])
        AS g (id, status, reason)
), waits AS (
    DELETE FROM workflow_waits w WHERE w.run_id = ANY(%(ids)s::uuid[])
), fans AS (
    DELETE FROM workflow_fans f WHERE f.run_id = ANY(%(ids)s::uuid[])
), inbox AS (
    DELETE FROM workflow_inbox i WHERE i.run_id = ANY(%(ids)s::uuid[])
), gone AS (
    DELETE FROM workflow_runs r WHERE r.id = ANY(%(ids)s::uuid[]) RETURNING r.*
)
INSERT INTO ended_workflow_runs (
    id, execution_id, tenant_id, task_id, version, partition, take, phase, reason, states, takes,
    ends, first_failed, sealed_input, scheduled_for, began_at, deadline_at, root_id, depth,
    parent_run, parent_step, parent_item, parent_take, status, finished_at)
SELECT r.id, r.execution_id, r.tenant_id, r.task_id, r.version, r.partition, r.take, r.phase,
       g.reason, r.states, r.takes, r.ends, r.first_failed, r.sealed_input, r.scheduled_for,
       r.began_at, r.deadline_at, r.root_id, r.depth, r.parent_run, r.parent_step, r.parent_item,
       r.parent_take, g.status, now()
FROM gone r JOIN given g ON g.id = r.id
ON CONFLICT (id, take) DO NOTHING

-- name: first_failures
-- Returns code and message of the step of each run that failed first; of a fan-out, those of its
-- first failed item. Index workflow_steps_of_run_idx of the days between the bounds.
SELECT DISTINCT ON (s.run_id) s.run_id, s.error_code, s.error_message
FROM workflow_steps s JOIN workflow_runs r ON r.id = s.run_id AND r.take = s.take
WHERE s.run_id = ANY(%(runs)s) AND s.id >= %(low)s AND s.id < %(high)s
  AND s.status = 'FAILED' AND s.step = r.first_failed
ORDER BY s.run_id, s.place

-- name: open_steps
-- Returns open executions of some steps of a run, for taking them back. Index open_executions_of_run_idx.
SELECT e.id, e.step FROM open_executions e
WHERE e.run_id = %(run)s AND e.step IS NOT NULL
  AND e.step = ANY(%(steps)s::smallint[])
  AND (e.cancel_requested_at IS NULL OR e.status <> 'RUNNING')
ORDER BY e.id LIMIT %(limit)s

-- name: tell_due
-- Tells runs of waits that are due: once, until the run has been advanced. Index
-- workflow_waits_due_idx.
INSERT INTO workflow_inbox (run_id, kind, step, item, take, status)
SELECT w.run_id, 'due', w.step, w.item, w.take, w.kind
FROM (
    SELECT w.* FROM workflow_waits w
    WHERE w.partition = ANY(%(partitions)s) AND w.due_at <= clock_timestamp()
      AND NOT EXISTS (
          SELECT FROM workflow_inbox i WHERE i.run_id = w.run_id AND i.kind = 'due'
            AND i.step = w.step AND i.item = w.item AND i.status = w.kind)
    ORDER BY w.due_at LIMIT %(limit)s
) AS w
RETURNING run_id

-- name: next
-- Returns when the first run of these partitions is due to begin, when their first wait is over,
-- and the time now. Indexes open_executions_to_begin_idx and workflow_waits_due_idx.
SELECT (
    SELECT e.due_at FROM open_executions e
    WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND NOT e.held
      AND e.partition = ANY(%(partitions)s)
    ORDER BY e.due_at LIMIT 1
), (
    SELECT w.due_at FROM workflow_waits w
    WHERE w.due_at IS NOT NULL AND w.partition = ANY(%(partitions)s)
    ORDER BY w.due_at LIMIT 1
), clock_timestamp()

-- name: left_behind
-- Returns runs of these partitions that wait to be advanced, and whether they have had something in
-- their inbox for a second; others have steps to take back, of their phase or marked. The limit holds for each kind, in
-- no order: runs that stay in such a state must not hide the others for ever. Indexes
-- workflow_runs_taking_back_idx and workflow_waits_marked_idx; the inbox holds what was not applied
-- yet, and is read whole.
(
    SELECT r.id, false FROM workflow_runs r
    WHERE r.phase IN ('cancelling', 'failing') AND r.partition = ANY(%(partitions)s)
    ORDER BY random() LIMIT %(limit)s
) UNION (
    SELECT r.id, true FROM workflow_runs r
    WHERE r.id = ANY(ARRAY(SELECT i.run_id FROM workflow_inbox i
                           WHERE i.at < clock_timestamp() - interval '1 second'))
      AND r.partition = ANY(%(partitions)s)
    ORDER BY random() LIMIT %(limit)s
) UNION (
    SELECT w.run_id, false FROM workflow_waits w
    WHERE w.kind IN ('late', 'unwanted') AND w.partition = ANY(%(partitions)s)
    ORDER BY random() LIMIT %(limit)s
)

-- name: forget_told
-- Deletes what was told to runs that had just ended: a signal or a timer saw them wait, and wrote
-- after their end.
DELETE FROM workflow_inbox i
WHERE i.at < clock_timestamp() - interval '1 hour'
  AND NOT EXISTS (SELECT FROM workflow_runs r WHERE r.id = i.run_id)

-- name: lock_of_tenant
-- Locks the runs of a tenant, in order of their ids. Reads the table whole: only the removal of a
-- tenant calls it.
SELECT r.id FROM workflow_runs r WHERE r.tenant_id = %(tenant)s ORDER BY r.id FOR UPDATE

-- name: own_pause
-- Lets one session at a time hold or free the steps of a run; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('pause of run ' || %(run)s::text, 0))

-- name: pausing
-- After own_pause: returns the phase of a run whose steps are to be held or freed, and since when.
-- Primary keys.
SELECT r.phase, w.began_at FROM workflow_waits w JOIN workflow_runs r ON r.id = w.run_id
WHERE w.run_id = %(run)s AND w.step = 0 AND w.item = -1 AND w.kind = 'pausing'

-- name: pausing_in
-- Returns runs of these partitions whose steps are to be held or freed, the oldest first. Index
-- workflow_waits_pausing_idx.
SELECT w.run_id, w.tenant_id FROM workflow_waits w
WHERE w.kind = 'pausing' AND w.partition = ANY(%(partitions)s)
ORDER BY w.began_at LIMIT %(limit)s

-- name: forget_pausing
-- Removes the mark of a run whose steps are held or freed, unless it was paused or resumed since.
-- Primary key.
DELETE FROM workflow_waits w
WHERE w.run_id = %(run)s AND w.step = 0 AND w.item = -1 AND w.kind = 'pausing'
  AND w.began_at = %(since)s

-- name: remove_of_tenant
-- Deletes what belongs to the open runs of a tenant, besides the runs, and its signals. Reads the
-- small tables whole: only the removal of a tenant calls it.
WITH runs AS (
    SELECT r.id FROM workflow_runs r WHERE r.tenant_id = %(tenant)s
), waits AS (
    DELETE FROM workflow_waits w WHERE w.tenant_id = %(tenant)s
), retries AS (
    DELETE FROM workflow_retries w WHERE w.tenant_id = %(tenant)s
), fans AS (
    DELETE FROM workflow_fans f USING runs WHERE f.run_id = runs.id
), inbox AS (
    DELETE FROM workflow_inbox i USING runs WHERE i.run_id = runs.id
)
DELETE FROM workflow_signals s WHERE s.tenant_id = %(tenant)s

-- name: remove_inbox_of
-- Deletes what these executions and others of their runs have told the runs. Primary keys, then
-- index workflow_inbox_of_run_idx.
DELETE FROM workflow_inbox i USING executions e
WHERE e.id = ANY(%(executions)s::uuid[]) AND e.run_id IS NOT NULL AND i.run_id = e.run_id
