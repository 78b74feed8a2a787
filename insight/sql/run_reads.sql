-- name: open_steps
-- Returns the executions of steps of some runs that have not ended, and of what undoes steps,
-- without those of items. Index open_executions_of_run_idx.
SELECT e.run_id, e.step, e.item, e.id, e.status, e.attempt, e.started_at, e.due_at, e.held, e.parked
FROM open_executions e
WHERE e.run_id = ANY(%(runs)s) AND e.step IS NOT NULL AND e.item < 0

-- name: open_items
-- Returns the executions of a fan-out's items that have not ended, of some of its items.
-- Index open_executions_of_run_idx.
SELECT e.run_id, e.step, e.item, e.id, e.status, e.attempt, e.started_at, e.due_at, e.held, e.parked
FROM open_executions e
WHERE e.run_id = %(run)s AND e.step = %(step)s AND e.item = ANY(%(items)s)

-- name: items_with_status
-- Returns which items of a fan-out have a status, in their order. Those of an execution that has
-- not ended are others than those of an end. Indexes as for item_counts.
SELECT item FROM (
    SELECT s.item FROM workflow_steps s
    WHERE s.run_id = %(run)s AND s.id >= %(low)s AND s.id < %(high)s AND s.step = %(step)s
      AND s.take = %(take)s AND s.item >= 0 AND s.status = %(status)s
    UNION ALL
    SELECT e.item FROM open_executions e
    WHERE e.run_id = %(run)s AND e.step = %(step)s AND e.take = %(take)s AND e.item >= 0
      AND e.status = ANY(%(open)s)
) AS found
ORDER BY item LIMIT %(limit)s OFFSET %(first)s

-- name: waits
-- Returns what steps of some runs wait for besides executions, without the ends of their time.
-- Primary key.
SELECT w.run_id, w.step, w.kind, w.began_at, w.due_at, w.name, w.correlation
FROM workflow_waits w
WHERE w.run_id = ANY(%(runs)s) AND w.kind IN ('delay', 'event', 'approval')

-- name: fans
-- Returns the fan-outs under way of some runs, without their items. Primary key.
SELECT f.run_id, f.step, f.total, f.begun, f.succeeded + f.failed + f.skipped, f.began_at
FROM workflow_fans f WHERE f.run_id = ANY(%(runs)s)

-- name: item_counts
-- Returns how many items of each fan-out of a run have which status, by the take that began them.
-- Indexes workflow_steps_of_run_idx, within the day of the run, and open_executions_of_run_idx.
SELECT s.step, s.take, s.status, count(*)
FROM workflow_steps s
WHERE s.run_id = %(run)s AND s.id >= %(low)s AND s.id < %(high)s AND s.item >= 0
GROUP BY s.step, s.take, s.status
UNION ALL
SELECT e.step, e.take, e.status, count(*)
FROM open_executions e
WHERE e.run_id = %(run)s AND e.step IS NOT NULL AND e.item >= 0
GROUP BY e.step, e.take, e.status
