-- name: groups
-- Returns the groups with gated work in the owned partitions, behind a task: the number of rows due
-- now, and when the next is; the same for ``ahead``, a moment to come; all rows read; and whether a
-- budget alone decides on the group. Reads up to ``limit`` rows: the last task may have more. Index
-- open_executions_gated_idx in its own order, then primary keys.
SELECT w.task_id, w.series_id,
       count(*) FILTER (WHERE w.due_at <= %(now)s), min(w.due_at) FILTER (WHERE w.due_at > %(now)s),
       count(*) FILTER (WHERE w.due_at <= %(ahead)s),
       min(w.due_at) FILTER (WHERE w.due_at > %(ahead)s), count(*),
       w.series_id IS NULL AND EXISTS (
           SELECT FROM task_budgets b JOIN tasks t ON t.id = b.task_id
           WHERE b.task_id = w.task_id AND t.schedule ->> 'max_concurrent' IS NULL
             AND coalesce(t.schedule ->> 'overlap_policy', 'allow') = 'allow')
FROM (
    SELECT e.task_id, e.series_id, e.due_at FROM open_executions e
    WHERE e.status = 'PENDING' AND e.gated
      AND e.task_id > %(after)s AND e.partition = ANY(%(partitions)s)
    ORDER BY e.task_id, e.series_id, e.due_at LIMIT %(limit)s
) AS w
GROUP BY w.task_id, w.series_id
ORDER BY w.task_id, w.series_id

-- name: groups_of_task
-- Returns the same for one task with many gated rows: jumps from series to series, so that a long
-- backlog of one does not hide the others. Index open_executions_gated_idx.
WITH RECURSIVE series AS (
    (SELECT e.series_id FROM open_executions e
     WHERE e.status = 'PENDING' AND e.gated
       AND e.task_id = %(task)s AND e.series_id IS NOT NULL
     ORDER BY e.series_id LIMIT 1)
    UNION ALL
    SELECT n.series_id FROM series s CROSS JOIN LATERAL (
        SELECT e.series_id FROM open_executions e
        WHERE e.status = 'PENDING' AND e.gated
          AND e.task_id = %(task)s AND e.series_id > s.series_id
        ORDER BY e.series_id LIMIT 1
    ) AS n
), waiting AS (
    SELECT s.series_id, d.due_at FROM series s CROSS JOIN LATERAL (
        SELECT e.due_at FROM open_executions e
        WHERE e.status = 'PENDING' AND e.gated
          AND e.task_id = %(task)s AND e.series_id = s.series_id
        ORDER BY e.due_at LIMIT %(limit)s
    ) AS d
    UNION ALL
    SELECT NULL, d.due_at FROM (
        SELECT e.due_at FROM open_executions e
        WHERE e.status = 'PENDING' AND e.gated
          AND e.task_id = %(task)s AND e.series_id IS NULL
        ORDER BY e.due_at LIMIT %(limit)s
    ) AS d
)
SELECT %(task)s::uuid, w.series_id,
       count(*) FILTER (WHERE w.due_at <= %(now)s), min(w.due_at) FILTER (WHERE w.due_at > %(now)s),
       count(*) FILTER (WHERE w.due_at <= %(ahead)s),
       min(w.due_at) FILTER (WHERE w.due_at > %(ahead)s), count(*),
       w.series_id IS NULL AND EXISTS (
           SELECT FROM task_budgets b JOIN tasks t ON t.id = b.task_id
           WHERE b.task_id = %(task)s AND t.schedule ->> 'max_concurrent' IS NULL
             AND coalesce(t.schedule ->> 'overlap_policy', 'allow') = 'allow')
FROM waiting w
GROUP BY w.series_id

-- name: standings
-- Returns policy and limit of each group, whether its task is paused, whether it has a budget, and
-- the executions that take its places now: one row per place, or one row without a place. A policy without a limit has the
-- limit 1; the bulk job of a series has its policy and limit. Index open_executions_counted_idx,
-- which has entries of such tasks only.
SELECT g.task_id, g.series_id, r.policy,
       coalesce(r.most, CASE WHEN r.policy <> 'allow' THEN 1 END), t.status = 'PAUSED',
       EXISTS (SELECT FROM task_budgets b WHERE b.task_id = g.task_id),
       a.id, a.status, a.fencing_token, a.cancel_requested_at IS NOT NULL,
       a.pool = 'workflow' AND a.trigger = 'retry'
FROM unnest(%(tasks)s::uuid[], %(series)s::uuid[]) AS g (task_id, series_id)
JOIN tasks t ON t.id = g.task_id
LEFT JOIN bulk_jobs j ON j.id = g.series_id
CROSS JOIN LATERAL (
    SELECT CASE WHEN g.series_id IS NULL THEN coalesce(t.schedule ->> 'overlap_policy', 'allow')
                ELSE coalesce(j.options ->> 'overlap_policy', 'queue_all') END AS policy,
           CASE WHEN g.series_id IS NULL THEN (t.schedule ->> 'max_concurrent')::integer
                ELSE (j.options ->> 'max_parallel')::integer END AS most
) AS r
LEFT JOIN LATERAL (
    SELECT e.id, e.status, e.fencing_token, e.cancel_requested_at, e.pool, e.trigger
    FROM open_executions e
    WHERE e.counted
      AND e.task_id = g.task_id AND e.series_id IS NULL AND g.series_id IS NULL
    UNION ALL
    SELECT e.id, e.status, e.fencing_token, e.cancel_requested_at, e.pool, e.trigger
    FROM open_executions e
    WHERE e.counted
      AND e.task_id = g.task_id AND e.series_id = g.series_id
) AS a ON true
ORDER BY g.task_id, g.series_id, a.id

-- name: lock_due
-- Locks the first work of each group that is due by a moment of the group, up to ``most`` rows,
-- against edit, pause and cancel.
-- Leaves out a group on which another scheduler decides in this moment, even one that wrongly
-- believes that it owns the partition: the advisory lock ends with the transaction and allows one
-- scheduler at a time to count and admit. The partition must still be this owner's under this
-- epoch. Skips rows that another session changes, without waiting. Index open_executions_gated_idx.
WITH taken AS MATERIALIZED (
    SELECT g.task_id, g.series_id, g.most, g.until
    FROM unnest(
        %(tasks)s::uuid[], %(series)s::uuid[], %(most)s::integer[], %(until)s::timestamptz[]
    ) AS g (task_id, series_id, most, until)
    CROSS JOIN LATERAL (SELECT t.partition FROM tasks t WHERE t.id = g.task_id OFFSET 0) AS t
    WHERE t.partition = ANY(ARRAY(
        SELECT l.partition FROM partition_leases l
        WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]
          AND coalesce(l.expires_at > now(), true) AND EXISTS (
              SELECT FROM scheduler_nodes n
              WHERE n.id = %(node)s AND n.lease_expires_at > now())))
      AND pg_try_advisory_xact_lock(
        hashtextextended(g.task_id::text || coalesce(g.series_id::text, ''), 727302))
), of_schedules AS (
    SELECT d.id, d.due_at, d.trigger, d.gave_way, g.task_id, g.series_id
    FROM taken g CROSS JOIN LATERAL (
        SELECT e.id, e.due_at, e.trigger, e.gave_way FROM open_executions e
        WHERE e.status = 'PENDING' AND e.gated
          AND e.task_id = g.task_id AND e.series_id IS NULL AND e.due_at <= g.until
        ORDER BY e.due_at, e.id LIMIT g.most
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
    WHERE g.series_id IS NULL
), of_series AS (
    SELECT d.id, d.due_at, d.trigger, d.gave_way, g.task_id, g.series_id
    FROM taken g CROSS JOIN LATERAL (
        SELECT e.id, e.due_at, e.trigger, e.gave_way FROM open_executions e
        WHERE e.status = 'PENDING' AND e.gated
          AND e.task_id = g.task_id AND e.series_id = g.series_id AND e.due_at <= g.until
        ORDER BY e.due_at, e.id LIMIT g.most
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
    WHERE g.series_id IS NOT NULL
)
SELECT task_id, series_id, id, due_at, trigger, gave_way IS TRUE
FROM (SELECT * FROM of_schedules UNION ALL SELECT * FROM of_series) AS d
ORDER BY task_id, series_id, due_at, id

-- name: lock_places
-- Locks executions that are to free their places, in their present state; leaves rows that another
-- session changes in this moment to the next look.
SELECT e.id, e.status, e.fencing_token FROM open_executions e
WHERE e.id = ANY(%(ids)s)
ORDER BY e.id FOR NO KEY UPDATE SKIP LOCKED

-- name: admit
-- Admits locked work: it takes a place from here on. Work that had to wait for its turn is due now,
-- because it could not start before; its nominal time stays. Work of a task that is paused in this
-- moment stays on hold, and work with a key waits for a place of the key.
UPDATE open_executions e
SET gated = false, counted = true, gave_way = NULL,
    held = t.status = 'PAUSED' OR coalesce(e.key_place <= 0, false),
    key_place = CASE WHEN e.key_place = 0 AND t.status = 'PAUSED' THEN -1 ELSE e.key_place END,
    due_at = CASE WHEN o.waited THEN greatest(e.due_at, clock_timestamp()) ELSE e.due_at END
FROM unnest(%(ids)s::uuid[], %(waited)s::boolean[]) AS o (id, waited), tasks t
WHERE e.id = o.id AND e.status = 'PENDING' AND e.gated
  AND t.id = e.task_id

-- name: needing
-- Returns which of these tasks have due runs at the gate that a run under way waits for, while a run
-- that has not begun has a place and waits: how many, up to a number, and whether the task has a
-- budget. Index open_executions_run_waits_idx, and not that of all that waits at the gate; the places
-- as in standings.
SELECT t.id, n.needed, EXISTS (SELECT FROM task_budgets b WHERE b.task_id = t.id)
FROM tasks t CROSS JOIN LATERAL (
    SELECT count(*) AS needed FROM (
        SELECT FROM open_executions w
        WHERE w.pool = 'workflow' AND w.status = 'PENDING' AND w.held AND w.run_id IS NOT NULL
          AND w.task_id = t.id AND w.gated::integer = 1 AND w.due_at <= %(now)s
        ORDER BY w.due_at LIMIT %(limit)s
    ) AS d
) AS n
WHERE t.id = ANY(%(tasks)s) AND t.pool = 'workflow' AND t.status <> 'PAUSED' AND n.needed > 0
  AND EXISTS (
      SELECT FROM open_executions p
      WHERE p.counted AND p.task_id = t.id AND p.series_id IS NULL AND p.status = 'PENDING'
        AND p.step IS NULL AND (p.held OR p.reason <> '') AND p.reason <> 'tenant_suspended')

-- name: lock_unbegun
-- Locks runs of a task that have a place, have not begun and wait for something else, the last due
-- first, up to a number, and retries of runs after the others. One that waits for nothing begins in a
-- moment, and keeps its turn. The group's lock and the owner's test are those of lock_due. Index
-- open_executions_counted_idx.
WITH taken AS MATERIALIZED (
    SELECT t.id FROM tasks t
    WHERE t.id = %(task)s AND t.status <> 'PAUSED' AND t.partition = ANY(ARRAY(
        SELECT l.partition FROM partition_leases l
        WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]
          AND coalesce(l.expires_at > now(), true) AND EXISTS (
              SELECT FROM scheduler_nodes n
              WHERE n.id = %(node)s AND n.lease_expires_at > now())))
      AND pg_try_advisory_xact_lock(hashtextextended(t.id::text, 727302))
)
SELECT d.id, d.run_id IS NOT NULL FROM taken k CROSS JOIN LATERAL (
    SELECT e.id, e.run_id, e.due_at FROM open_executions e
    WHERE e.counted AND e.task_id = k.id AND e.series_id IS NULL AND e.status = 'PENDING'
      AND e.step IS NULL AND (e.held OR e.reason <> '') AND e.reason <> 'tenant_suspended'
    ORDER BY e.run_id IS NOT NULL, e.due_at DESC, e.id DESC LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
) AS d
ORDER BY d.run_id IS NOT NULL, d.due_at DESC, d.id DESC

-- name: lock_needing
-- Locks the first due runs of a task at the gate that a run under way waits for, up to a number;
-- with or without retries of runs. Index open_executions_run_waits_idx.
SELECT e.id, e.due_at, e.trigger FROM open_executions e
WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND e.held AND e.run_id IS NOT NULL
  AND e.gated::integer = 1 AND e.task_id = %(task)s AND e.due_at <= %(now)s
  AND (e.step IS NOT NULL OR %(retries)s)
ORDER BY e.due_at, e.id LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED

-- name: put_back
-- Lets locked runs that have not begun wait for the gate again, with no place: neither of their task
-- nor of their key. The mark keeps the overlap policy from judging them as if they came now, and their
-- budget from counting them again. Primary key.
UPDATE open_executions e
SET gated = true, counted = false, held = true, gave_way = true,
    reason = CASE WHEN e.reason = 'tenant_limit' THEN '' ELSE e.reason END,
    due_at = CASE WHEN e.key_place > 0
                  THEN least(e.due_at, CASE e.trigger WHEN 'schedule' THEN e.scheduled_for
                                       ELSE e.created_at END)
                  ELSE e.due_at END,
    key_place = CASE WHEN e.key_place IS NULL THEN NULL WHEN t.status = 'PAUSED' THEN -1 ELSE 0 END
FROM tasks t
WHERE e.id = ANY(%(ids)s) AND e.status = 'PENDING' AND e.counted AND e.step IS NULL
  AND t.id = e.task_id

-- name: skip
-- Moves gated PENDING to SKIPPED, in the history: its instant came while there was no place for it.
-- The last column is that of complete/finish.
WITH gone AS (
    DELETE FROM open_executions e
    WHERE e.id = ANY(%(ids)s) AND e.status = 'PENDING' AND e.gated
    RETURNING e
), kept AS (
    INSERT INTO ended_executions
    SELECT r.* FROM gone g CROSS JOIN LATERAL jsonb_populate_record(g.e, jsonb_build_object(
        'status', 'SKIPPED', 'reason', %(reason)s::text, 'finished_at', now(), 'gated', false,
        'held', false, 'key_place', NULL, 'gave_way', NULL)) AS r
    ON CONFLICT (id) DO NOTHING RETURNING id
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT (e).tenant_id, 'execution.skipped', (e).id, (e).task_id FROM gone
), told AS (
    INSERT INTO workflow_inbox (run_id, kind, step, item, take, execution_id, status)
    SELECT (e).run_id, 'ended', (e).step, (e).item, (e).take, (e).id, 'SKIPPED'
    FROM gone WHERE (e).run_id IS NOT NULL
)
SELECT (e).id, (e).task_id, (e).run_id, (e).id IN (SELECT id FROM kept) FROM gone

-- name: somebody_waits
-- Returns whether gated work of these tasks, or work of one of their keys, waits for a place, or will
-- in a moment: a scheduler that looks while their places are being freed may not see that yet.
-- Indexes open_executions_gated_idx and open_executions_key_waiting_idx.
SELECT EXISTS (
    SELECT 1 FROM open_executions e
    WHERE e.status = 'PENDING' AND e.gated
      AND e.task_id = ANY(%(task_ids)s) AND e.due_at <= clock_timestamp() + interval '2 seconds'
) OR EXISTS (
    SELECT 1 FROM tasks t CROSS JOIN LATERAL (
        SELECT e.due_at FROM open_executions e
        WHERE e.key_place = 0 AND NOT e.gated
          AND e.tenant_id = t.tenant_id AND e.concurrency_key = t.concurrency_key
        ORDER BY e.due_at LIMIT 1
    ) AS w
    WHERE t.id = ANY(%(task_ids)s) AND t.concurrency_key IS NOT NULL
      AND w.due_at <= clock_timestamp() + interval '2 seconds'
)
