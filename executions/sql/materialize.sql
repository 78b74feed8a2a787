-- name: lock_due_tasks
-- Locks tasks of the owned partitions whose next instant falls within the horizon, soonest first;
-- of each partition its first few from a lower bound on, so that a pass reads neither all due tasks
-- nor past ones. Task and cursor are locked, which closes the race with an edit, pause or delete;
-- another session's lock is skipped, not waited for. Index task_cursors_due_idx. An expired lease
-- gives no tasks: a planner must own a partition when its transaction begins. (No table is joined
-- that statistics may take for one row, or every pair would be compared: a task is fetched by its
-- id.)
SELECT d.*
FROM (
    SELECT l.partition FROM partition_leases l
    WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]
      AND coalesce(l.expires_at > now(), true) AND EXISTS (
          SELECT FROM scheduler_nodes n WHERE n.id = %(node)s AND n.lease_expires_at > now())
    OFFSET 0
) AS held CROSS JOIN LATERAL (
    SELECT t.id, t.tenant_id, t.type,
           t.schedule, k.next_run_at, k.occurrence_count, t.created_at, t.resumed_at, t.on_resume,
           k.replayed_until, k.partition, k.ctid::text AS place
    FROM task_cursors k CROSS JOIN LATERAL (
        SELECT t.id, t.tenant_id, t.type, t.schedule, t.created_at, t.resumed_at, t.on_resume
        FROM tasks t WHERE t.id = k.task_id AND t.status = 'SCHEDULED'
        OFFSET 0
    ) AS t
    WHERE k.partition = held.partition AND NOT k.held AND k.execution_id IS NULL
      AND k.next_run_at >= %(since)s AND k.next_run_at <= %(horizon)s
    ORDER BY k.next_run_at
    LIMIT %(each)s
    FOR NO KEY UPDATE SKIP LOCKED
) AS d
ORDER BY d.next_run_at
LIMIT %(limit)s

-- name: take_plain
-- Prepares tasks whose only instant is plain, in one statement: no decision is needed, and the id
-- of the execution was made with the task. Takes the first few of each partition, locked with their
-- tasks as by lock_due_tasks; deletes the cursor and inserts the open row. Returns how many, of how
-- many partitions there may be more, and when the first comes due. Index task_cursors_plain_idx.
WITH due AS MATERIALIZED (
    SELECT d.* FROM (
        SELECT l.partition FROM partition_leases l
        WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]
          AND coalesce(l.expires_at > now(), true) AND EXISTS (
              SELECT FROM scheduler_nodes n WHERE n.id = %(node)s AND n.lease_expires_at > now())
        OFFSET 0
    ) AS held CROSS JOIN LATERAL (
        SELECT k.ctid AS place, k.execution_id, k.next_run_at, t.*
        FROM task_cursors k CROSS JOIN LATERAL (
            SELECT t.id, t.tenant_id, t.partition, t.priority, t.pool, t.destination, t.version,
                   t.max_attempts, t.timeout_seconds, t.trace_context
            FROM tasks t WHERE t.id = k.task_id AND t.status = 'SCHEDULED'
            OFFSET 0
        ) AS t
        WHERE k.partition = held.partition AND NOT k.held AND k.execution_id IS NOT NULL
          AND k.next_run_at >= %(since)s AND k.next_run_at <= %(horizon)s
        ORDER BY k.next_run_at
        LIMIT %(each)s
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
), taken AS (
    DELETE FROM task_cursors k WHERE k.ctid = ANY(ARRAY(SELECT d.place FROM due d))
), made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds, incarnation,
        worker, held, gated, error_code, error_message, trace_context, created_at
    )
    SELECT d.execution_id, d.tenant_id, d.id, d.partition, d.priority, d.pool, d.destination,
           d.version, 'PENDING', '', 'schedule', d.next_run_at, d.next_run_at,
           0, d.max_attempts, 0, d.timeout_seconds, '', '', false, false, '', '',
           d.trace_context, now()
    FROM due d
    ON CONFLICT (id) DO NOTHING
    RETURNING id, tenant_id, task_id
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.materialized', array_agg(id), array_agg(task_id)
    FROM made GROUP BY tenant_id
), counted AS (
    INSERT INTO metric_totals (series, counts)
    SELECT ARRAY['scheduled/schedule'], ARRAY[count(*)] FROM made HAVING count(*) > 0
)
SELECT coalesce(sum(p.count), 0)::bigint, count(*) FILTER (WHERE p.count >= %(each)s), min(p.first)
FROM (SELECT count(*) AS count, min(next_run_at) AS first FROM due GROUP BY partition) AS p

-- name: plan_plain
-- Leaves plain instants before a moment to planning as all others: they need a decision after all.
-- Index task_cursors_plain_idx.
UPDATE task_cursors k SET execution_id = NULL
FROM unnest(%(partitions)s::smallint[], %(until)s::timestamptz[]) AS p (partition, until)
WHERE k.partition = p.partition AND NOT k.held AND k.execution_id IS NOT NULL
  AND k.next_run_at < p.until

-- part: missed
-- Counts instants that passed without a scheduler against the objective of success, by tenant and
-- band, as totals count them; one that was replayed has run. By new rows: a session that updated the
-- tenant's minute could deadlock with another one.
missed AS (
    INSERT INTO objective_counts (
        tenant_id, at, objective, band, cause, counted, bad, execution_id)
    SELECT m.tenant_id, date_trunc('minute', now(), 'UTC'), 'success',
           CASE WHEN m.priority <= 2 THEN 0 WHEN m.priority <= 6 THEN 1 ELSE 2 END, m.reason,
           sum(m.instants), sum(m.instants), max(m.id::text)::uuid
    FROM made m WHERE m.reason LIKE 'misfire_%%' AND m.reason <> 'misfire_replayed'
    GROUP BY 1, 2, 3, 4, 5
)

-- name: insert_open
-- Inserts one PENDING row per instant, at most once for any number of schedulers: the id is derived
-- and unique, and the partition must still be this owner's under this epoch. Cursors move under the
-- same test, and once it fails it fails for good: no cursor passes a row that was refused. A row
-- that the policy or the limit of its task may delay is written gated, one whose task has a
-- concurrency key waits for a place of the key. Skips a row that this statement sees, instead of meeting its key: a session that ends or takes back that row waits for
-- the task, which this one has locked, and the insert would wait for that session.
WITH planned AS (
    SELECT * FROM unnest(
        %(ids)s::uuid[], %(task_ids)s::uuid[], %(scheduled_for)s::timestamptz[],
        %(due_at)s::timestamptz[], %(reasons)s::text[]
    ) AS p (id, task_id, scheduled_for, due_at, reason)
), known AS MATERIALIZED (
    SELECT e.id FROM open_executions e WHERE e.id = ANY(%(ids)s::uuid[])
), owned AS (
    SELECT p.*, t.*
    FROM planned p CROSS JOIN LATERAL (
        SELECT t.tenant_id, t.partition, t.version, t.pool, t.destination,
               -- Each execution of a recurring task is a trace of its own.
               CASE WHEN t.type = 'ONE_TIME' THEN t.trace_context END AS trace_context,
               t.priority, t.max_attempts, t.timeout_seconds, t.limited, t.concurrency_key
        FROM tasks t
        WHERE t.id = p.task_id AND t.partition = ANY(ARRAY(
            SELECT l.partition FROM partition_leases l
            WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]))
        OFFSET 0
    ) AS t
), made AS (
    INSERT INTO open_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds, incarnation,
        worker, held, gated, error_code, error_message, trace_context, created_at, concurrency_key,
        key_place
    )
    SELECT o.id, o.tenant_id, o.task_id, o.partition, o.priority, o.pool, o.destination,
           o.version, 'PENDING', o.reason, 'schedule', o.scheduled_for, o.due_at,
           0, o.max_attempts, 0, o.timeout_seconds, '', '',
           o.limited OR o.concurrency_key IS NOT NULL, o.limited, '', '',
           o.trace_context, now(), o.concurrency_key,
           CASE WHEN o.concurrency_key IS NOT NULL THEN 0 END
    FROM owned o WHERE o.id NOT IN (SELECT k.id FROM known k)
    ON CONFLICT (id) DO NOTHING
    RETURNING id, tenant_id, task_id, reason, priority, 1 AS instants
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.materialized', array_agg(id), array_agg(task_id)
    FROM made GROUP BY tenant_id
), counted AS (
    INSERT INTO metric_totals (series, counts)
    SELECT array_agg(s.series), array_agg(r.count)
    FROM (SELECT reason, count(*) AS count FROM made GROUP BY reason) AS r CROSS JOIN LATERAL (
        VALUES ('scheduled/schedule'), ('missed/' || substring(r.reason FROM '^misfire_(.*)'))
    ) AS s (series)
    WHERE s.series IS NOT NULL HAVING count(*) > 0
), -- parts: missed
SELECT count(*) FROM made

-- name: insert_unstarted
-- Inserts instants that do not run, straight into the history, under the same guards: SKIPPED, or
-- FAILED with their reason as the error. An existing row, open or ended, stays as it is.
WITH planned AS (
    SELECT * FROM unnest(
        %(ids)s::uuid[], %(task_ids)s::uuid[], %(scheduled_for)s::timestamptz[],
        %(due_at)s::timestamptz[], %(reasons)s::text[], %(statuses)s::text[],
        %(span_last)s::timestamptz[], %(span_count)s::bigint[]
    ) AS p (id, task_id, scheduled_for, due_at, reason, status, span_last, span_count)
), known AS MATERIALIZED (
    SELECT e.id FROM open_executions e WHERE e.id = ANY(%(ids)s::uuid[])
), owned AS (
    SELECT p.*, t.*
    FROM planned p CROSS JOIN LATERAL (
        SELECT t.tenant_id, t.partition, t.version, t.pool, t.destination,
               -- Each execution of a recurring task is a trace of its own.
               CASE WHEN t.type = 'ONE_TIME' THEN t.trace_context END AS trace_context,
               t.priority, t.max_attempts, t.timeout_seconds
        FROM tasks t
        WHERE t.id = p.task_id AND t.partition = ANY(ARRAY(
            SELECT l.partition FROM partition_leases l
            WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]))
        OFFSET 0
    ) AS t
), made AS (
    INSERT INTO ended_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, finished_at, attempt, max_attempts, lost_count,
        timeout_seconds, incarnation, worker, held, error_code, error_message,
        span_last, span_count, trace_context, created_at
    )
    SELECT o.id, o.tenant_id, o.task_id, o.partition, o.priority, o.pool, o.destination,
           o.version, o.status, o.reason, 'schedule', o.scheduled_for, o.due_at, now(),
           0, o.max_attempts, 0, o.timeout_seconds, '', '', false,
           CASE WHEN o.status = 'FAILED' THEN o.reason ELSE '' END, '',
           o.span_last, o.span_count, o.trace_context, now()
    FROM owned o WHERE o.id NOT IN (SELECT k.id FROM known k)
    ON CONFLICT (id) DO NOTHING
    RETURNING id, tenant_id, task_id, status, reason, priority, coalesce(span_count, 1) AS instants
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT tenant_id, 'execution.' || lower(status), id, task_id FROM made
), counted AS (
    INSERT INTO metric_totals (series, counts)
    SELECT array_agg('missed/' || substring(m.reason FROM '^misfire_(.*)')),
           array_agg(m.instants)
    FROM made m WHERE m.reason LIKE 'misfire_%%' HAVING count(*) > 0
), -- parts: missed
SELECT count(*) FROM made

-- name: already_ended
-- Returns the ids that the history has. Asked after insert_open, with a snapshot of its own: an
-- insert that met the end of the same instant finds its row gone, and this sees where it went.
SELECT d.id FROM ended_executions d
WHERE d.id = ANY(%(ids)s::uuid[]) AND d.id >= %(low)s AND d.id <= %(high)s

-- name: advance_cursors
-- Moves the cursor of each task that lock_due_tasks has locked past the written rows, only where no
-- other session has moved it since and the partition is still ours. Returns the tasks without an
-- instant ahead, except those marked ``open``, whose unfinished work has just been written: they may
-- be over. A replay or a coalesced run continues at the next look from replayed_until.
WITH moved AS (
    UPDATE task_cursors k
    SET next_run_at = p.next_run_at, occurrence_count = k.occurrence_count + p.occurrences,
        replayed_until = p.replayed_until
    FROM unnest(
        %(task_ids)s::uuid[], %(cursors)s::timestamptz[], %(next_run_at)s::timestamptz[],
        %(occurrences)s::bigint[], %(replayed_until)s::timestamptz[], %(open)s::boolean[]
    ) AS p (task_id, cursor, next_run_at, occurrences, replayed_until, open)
    -- By their places, which cannot change while they are locked: an index leads past every old
    -- version, and a plain join would read all cursors.
    WHERE k.task_id = p.task_id AND k.ctid = ANY(%(places)s::text[]::tid[])
      -- In one expression: the index of due tasks would read every task that waits in these
      -- partitions.
      AND CASE WHEN k.next_run_at = p.cursor AND NOT k.held AND k.partition = ANY(ARRAY(
          SELECT l.partition FROM partition_leases l
          WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]))
          THEN true ELSE false END
    RETURNING k.task_id, p.next_run_at IS NULL AND NOT p.open AS may_be_over
)
SELECT m.task_id FROM moved m WHERE m.may_be_over

-- name: take_cursors
-- Does the same for one-time tasks, whose cursor is deleted with its only instant. A task whose
-- instant was skipped may be over.
WITH taken AS (
    DELETE FROM task_cursors k
    USING unnest(%(task_ids)s::uuid[], %(cursors)s::timestamptz[], %(open)s::boolean[])
        AS p (task_id, cursor, open)
    WHERE k.task_id = p.task_id AND k.ctid = ANY(%(places)s::text[]::tid[])
      AND CASE WHEN k.next_run_at = p.cursor AND NOT k.held AND k.partition = ANY(ARRAY(
          SELECT l.partition FROM partition_leases l
          WHERE l.owner = %(node)s AND l.epoch = (%(epochs)s::bigint[])[l.partition + 1]))
          THEN true ELSE false END
    RETURNING k.task_id, NOT p.open AS may_be_over
)
SELECT t.task_id FROM taken t WHERE t.may_be_over

-- name: next_due_task
-- Returns the soonest instant that the owned partitions wait for from a lower bound on, or the time
-- given where none is before that: the scheduler sleeps no longer, so later instants are not read.
-- Indexes task_cursors_due_idx and task_cursors_plain_idx.
SELECT coalesce(min(soonest), %(until)s) FROM (
    SELECT least((
        SELECT k.next_run_at FROM task_cursors k
        WHERE k.partition = p AND NOT k.held AND k.execution_id IS NULL
          AND k.next_run_at >= %(since)s AND k.next_run_at <= %(until)s
        ORDER BY k.next_run_at LIMIT 1
    ), (
        SELECT k.next_run_at FROM task_cursors k
        WHERE k.partition = p AND NOT k.held AND k.execution_id IS NOT NULL
          AND k.next_run_at >= %(since)s AND k.next_run_at <= %(until)s
        ORDER BY k.next_run_at LIMIT 1
    )) AS soonest
    FROM unnest(%(partitions)s::smallint[]) AS p
) AS per_partition

-- name: tasks_to_resume
-- Returns paused tasks whose pause ends by itself. Index tasks_resume_due_idx.
SELECT id, tenant_id FROM tasks
WHERE status = 'PAUSED' AND paused_until <= now() AND partition = ANY(%(partitions)s)
ORDER BY paused_until LIMIT %(limit)s

-- part: late_on_hold
-- Work on hold that came due in a time without a scheduler, and has not begun. Index
-- open_executions_late_on_hold_idx.
late_on_hold AS (
    SELECT e.id, e.task_id, e.due_at, e.scheduled_for, n.until
    FROM open_executions e
    JOIN unnest(%(partitions)s::smallint[], %(since)s::timestamptz[], %(until)s::timestamptz[])
        AS n (partition, since, until) ON n.partition = e.partition
    WHERE e.status = 'PENDING' AND e.held AND e.trigger = 'schedule' AND e.attempt = 0
      AND judged_after_outage(e.held, e.gated, e.parked, e.key_place, e.pool, e.reason)
      AND e.due_at >= n.since AND e.due_at < n.until
      AND e.due_at >= (SELECT min(s) FROM unnest(%(since)s::timestamptz[]) AS s)
      AND e.due_at < (SELECT max(u) FROM unnest(%(until)s::timestamptz[]) AS u)
)

-- name: lock_neglected
-- Locks tasks whose prepared instants came due in a time without a scheduler, and returns the first
-- of those instants and the end of that time: tasks with an instant that is missed, older than
-- their grace, or one of several, which must not start all at once. A single instant that is less
-- late stays, and runs late. Locked without waiting, so that an edit or pause in this moment keeps
-- its rows. Work that waits for the gate, for its key or for the limit of its tenant's runs is
-- treated alike; judged_after_outage says which. Indexes open_executions_due_idx and
-- open_executions_late_on_hold_idx.
WITH -- parts: late_on_hold
late AS (
    SELECT e.task_id, e.due_at, e.scheduled_for, n.until
    FROM open_executions e
    JOIN unnest(%(partitions)s::smallint[], %(since)s::timestamptz[], %(until)s::timestamptz[])
        AS n (partition, since, until) ON n.partition = e.partition
    WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked AND e.status = 'PENDING'
      AND e.attempt = 0 AND e.trigger = 'schedule' AND e.reason = ''
      AND e.due_at >= n.since AND e.due_at < n.until
      AND e.due_at >= (SELECT min(s) FROM unnest(%(since)s::timestamptz[]) AS s)
      AND e.due_at < (SELECT max(u) FROM unnest(%(until)s::timestamptz[]) AS u)
    UNION ALL
    SELECT h.task_id, h.due_at, h.scheduled_for, h.until FROM late_on_hold h
), late_tasks AS (
    SELECT task_id, min(due_at) AS due_at, min(scheduled_for) AS first, count(*) AS instants,
           max(until) AS until
    FROM late GROUP BY task_id
)
SELECT t.id, t.tenant_id, t.partition, l.first, l.until FROM late_tasks l
JOIN tasks t ON t.id = l.task_id
WHERE t.status = 'SCHEDULED' AND (
    t.type = 'RECURRING'
    AND (l.instants > 1 OR l.due_at < l.until - %(after)s * interval '1 second')
    OR l.due_at < clock_timestamp()
       - (t.schedule ->> 'misfire_grace_seconds')::float8 * interval '1 second'
)
LIMIT %(limit)s
FOR NO KEY UPDATE OF t SKIP LOCKED

-- part: unbegun
-- The judged tasks, and their prepared work that has not begun, locked. Index of tasks.
judged AS MATERIALIZED (
    SELECT * FROM unnest(
        %(tasks)s::uuid[], %(tenants)s::uuid[], %(of_partitions)s::smallint[],
        %(firsts)s::timestamptz[], %(untils)s::timestamptz[]
    ) AS j (id, tenant_id, partition, first, until)
), waiting AS MATERIALIZED (
    SELECT e.id, e.task_id, e.scheduled_for FROM judged j
    JOIN open_executions e ON e.task_id = j.id
    WHERE e.scheduled_for >= j.first AND e.attempt = 0 AND e.trigger = 'schedule'
      AND e.status = 'PENDING'
      AND judged_after_outage(
          e.held, e.gated, e.parked, e.key_place, e.pool,
          CASE WHEN e.reason LIKE 'misfire%%' AND e.created_at >= j.until THEN ''
               ELSE e.reason END)
    FOR UPDATE OF e SKIP LOCKED
)

-- part: unmissed
-- Takes off what the decisions that leave have counted against the objective of success, in the
-- minutes in which they did: the instants are decided, and counted, once more.
unmissed AS (
    INSERT INTO objective_counts (tenant_id, at, objective, band, cause, counted, bad)
    SELECT g.tenant_id, date_trunc('minute', g.created_at, 'UTC'), 'success',
           CASE WHEN g.priority <= 2 THEN 0 WHEN g.priority <= 6 THEN 1 ELSE 2 END, g.reason,
           -sum(g.instants), -sum(g.instants)
    FROM (
        SELECT r.tenant_id, r.created_at, r.priority, r.reason, 1 AS instants FROM removed r
        UNION ALL
        SELECT p.tenant_id, p.created_at, p.priority, p.reason, p.instants FROM passed p
    ) AS g
    WHERE g.reason LIKE 'misfire_%%' AND g.reason <> 'misfire_replayed'
    GROUP BY 1, 2, 3, 4, 5
)

-- name: unprepare_neglected
-- After lock_neglected, unprepares those tasks: their prepared rows from the first instant on leave
-- the ledger, and their cursors go back before them, so that the misfire policy decides again. Its
-- decisions since the outage leave too, where a worker's part is returned only now. Rows that
-- another session holds stay, so that no session deadlocks. Rows that stay, because they were
-- started, are planned once more and met by their ids, so they leave the count, too. Returns how
-- many rows left, the first instant, and the task of each row that the gate had let through. Indexes
-- of tasks in both parts.
WITH -- parts: unbegun
removed AS (
    DELETE FROM open_executions e WHERE e.id = ANY(ARRAY(SELECT id FROM waiting))
    RETURNING e.task_id, e.counted OR e.gave_way IS TRUE AS counted, e.tenant_id, e.created_at,
              e.priority, e.reason
), passed AS (
    DELETE FROM ended_executions e USING judged j
    WHERE e.task_id = j.id AND e.id >= %(low)s AND e.id < %(high)s AND e.scheduled_for >= j.first
      AND e.attempt = 0 AND e.trigger = 'schedule' AND e.status = 'SKIPPED'
      AND e.reason LIKE 'misfire%%' AND e.created_at >= j.until
    RETURNING e.id, e.task_id, e.scheduled_for, e.tenant_id, e.created_at, e.priority, e.reason,
              coalesce(e.span_count, 1) AS instants
), -- parts: unmissed
prepared AS (
    SELECT id, task_id, scheduled_for FROM waiting
    UNION ALL
    SELECT id, task_id, scheduled_for FROM passed
), taken_back AS (
    SELECT o.task_id, o.first, (
        SELECT coalesce(sum(coalesce(e.span_count, 1)), 0) FROM executions e
        WHERE e.task_id = o.task_id AND e.id >= o.first_id
          AND e.id >= %(low)s AND e.id < %(high)s
          AND e.trigger = 'schedule' AND e.scheduled_for >= o.first
          -- Rows beyond the cursor stayed through an edit and are counted when it meets them.
          AND NOT EXISTS (SELECT FROM task_cursors k WHERE k.task_id = o.task_id
                          AND k.next_run_at <= e.scheduled_for)) AS instants
    FROM (
        SELECT task_id, min(scheduled_for) AS first,
               (array_agg(id ORDER BY id))[1] AS first_id
        FROM prepared GROUP BY task_id
    ) AS o
), moved AS (
    UPDATE task_cursors k
    SET next_run_at = least(k.next_run_at, b.first), execution_id = NULL,
        occurrence_count = greatest(0, k.occurrence_count - b.instants)
    FROM taken_back b
    WHERE k.task_id = b.task_id
    RETURNING k.task_id
), come_back AS (
    -- The cursors of one-time tasks were deleted.
    INSERT INTO task_cursors (task_id, tenant_id, partition, next_run_at, occurrence_count, held)
    SELECT j.id, j.tenant_id, j.partition, b.first, 0, false
    FROM taken_back b JOIN judged j ON j.id = b.task_id
    WHERE NOT EXISTS (SELECT FROM moved m WHERE m.task_id = b.task_id)
    -- The lock of the task keeps edits from adding a cursor meanwhile.
    ON CONFLICT (task_id) WHERE last_execution_status = '' DO UPDATE
    SET next_run_at = least(task_cursors.next_run_at, excluded.next_run_at), execution_id = NULL
)
SELECT (SELECT count(*) FROM prepared), (SELECT min(first) FROM taken_back),
       ARRAY(SELECT r.task_id FROM removed r WHERE r.counted)

-- name: oldest_neglected
-- Returns the oldest id among the prepared instants that lock_neglected may judge. Indexes
-- open_executions_due_idx and open_executions_late_on_hold_idx.
WITH -- parts: late_on_hold
SELECT least((
    SELECT (array_agg(e.id ORDER BY e.id))[1] FROM open_executions e
    JOIN unnest(%(partitions)s::smallint[], %(since)s::timestamptz[], %(until)s::timestamptz[])
        AS n (partition, since, until) ON n.partition = e.partition
    WHERE e.status IN ('PENDING', 'RETRYING') AND NOT e.held AND NOT e.parked
      AND e.due_at >= n.since AND e.due_at < n.until
      AND e.due_at >= (SELECT min(s) FROM unnest(%(since)s::timestamptz[]) AS s)
      AND e.due_at < (SELECT max(u) FROM unnest(%(until)s::timestamptz[]) AS u)
), (
    SELECT (array_agg(h.id ORDER BY h.id))[1] FROM late_on_hold h
))

-- name: oldest_open
-- Returns the oldest unfinished id: no day at or above it leaves. A run of a workflow has the id of
-- its first take, also when that has ended and another one is open. Primary keys.
SELECT least(
    (SELECT e.id FROM open_executions e ORDER BY e.id LIMIT 1),
    (SELECT r.id FROM workflow_runs r ORDER BY r.id LIMIT 1))

-- name: oldest_of_last_hour
-- Returns the oldest id of executions that ended within the last hour, long after their time. Index
-- executions_late_ends_idx; apart from the order, which would lead through the key of each day.
WITH late AS MATERIALIZED (
    SELECT e.id FROM ended_executions e
    WHERE e.finished_at >= now() - interval '62 minutes'
      AND e.finished_at - e.scheduled_for > interval '1 hour'
)
SELECT l.id FROM late l ORDER BY l.id LIMIT 1
