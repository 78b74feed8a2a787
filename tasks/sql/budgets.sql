-- name: lock
-- Locks the budgets of tasks in order, which prevents the deadlock of two sessions that share some,
-- and returns them with the zones of the tasks and the time. Primary keys.
SELECT b.task_id, b.unit, b.tenant_id, b.per, b.most, b.used, b.resets_at, b.near, b.exceeded,
       coalesce(t.schedule ->> 'timezone', 'UTC'), clock_timestamp()
FROM task_budgets b JOIN tasks t ON t.id = b.task_id
WHERE b.task_id = ANY(%(tasks)s::uuid[])
ORDER BY b.task_id, b.unit FOR NO KEY UPDATE OF b

-- name: read
-- Returns the same, without locks. Primary keys.
SELECT b.task_id, b.unit, b.tenant_id, b.per, b.most, b.used, b.resets_at, b.near, b.exceeded,
       coalesce(t.schedule ->> 'timezone', 'UTC'), clock_timestamp()
FROM task_budgets b JOIN tasks t ON t.id = b.task_id
WHERE b.task_id = ANY(%(tasks)s::uuid[])
ORDER BY b.task_id, b.unit

-- name: lock_free_tasks
-- Locks the tasks that no other session changes in this moment, without waiting, before what they
-- have used is read; the recorder locks tasks before budgets, too. Primary key.
SELECT t.id FROM tasks t WHERE t.id = ANY(%(tasks)s::uuid[])
ORDER BY t.id FOR NO KEY UPDATE SKIP LOCKED

-- name: store
-- Stores what locked budgets have used, the end of their period and which events it has had. Primary
-- key.
UPDATE task_budgets b
SET used = o.used, resets_at = o.resets_at, near = o.near, exceeded = o.exceeded
FROM unnest(
    %(tasks)s::uuid[], %(units)s::text[], %(used)s::numeric[], %(resets_at)s::timestamptz[],
    %(near)s::boolean[], %(exceeded)s::boolean[]
) AS o (task_id, unit, used, resets_at, near, exceeded)
WHERE b.task_id = o.task_id AND b.unit = o.unit

-- name: put
-- Inserts the budgets of definitions, or changes them: what is used in the present period stays, and
-- may have its events again under the new limit. Primary key.
INSERT INTO task_budgets AS b (task_id, unit, tenant_id, per, most, resets_at)
SELECT o.task_id, o.unit, o.tenant_id, o.per, o.most, o.resets_at
FROM unnest(
    %(tasks)s::uuid[], %(tenants)s::uuid[], %(units)s::text[], %(per)s::text[],
    %(most)s::numeric[], %(resets_at)s::timestamptz[]
) AS o (task_id, tenant_id, unit, per, most, resets_at)
ORDER BY o.task_id, o.unit
ON CONFLICT (task_id, unit) DO UPDATE
SET per = excluded.per, most = excluded.most, resets_at = excluded.resets_at,
    used = CASE WHEN b.resets_at <= %(now)s THEN 0 ELSE b.used END,
    near = b.near AND b.most = excluded.most AND b.resets_at > %(now)s,
    exceeded = b.exceeded AND b.most = excluded.most AND b.resets_at > %(now)s

-- name: remove_others
-- Removes the budgets of a task in other units than these. Primary key.
DELETE FROM task_budgets b
WHERE b.task_id = %(task)s AND b.unit <> ALL(%(units)s::text[])
