-- name: start
-- Moves QUEUED to RUNNING under the token; the lease now covers the timeout. Of work that starts
-- and ends within one batch of the recorder, only the end is recorded. Work that was leased over
-- the API keeps its lease, which its heartbeats extend.
WITH moved AS (
    UPDATE open_executions e
    SET status = 'RUNNING', attempt = e.attempt + 1, worker = o.worker,
        started_at = coalesce(e.started_at, o.started_at),
        start_delay_ms = coalesce(e.start_delay_ms,
            extract(epoch FROM o.started_at - e.due_at)::float8 * 1000),
        accepted_at = CASE WHEN e.pool LIKE 'pull.%%' THEN o.started_at ELSE e.accepted_at END,
        lease_expires_at = CASE WHEN e.pool LIKE 'pull.%%' THEN e.lease_expires_at ELSE
            o.started_at + (e.timeout_seconds + %(margin)s) * interval '1 second' END
    FROM unnest(
        %(ids)s::uuid[], %(tokens)s::bigint[], %(workers)s::text[], %(started_at)s::timestamptz[]
    ) AS o (id, token, worker, started_at)
    WHERE e.id = o.id AND e.id = ANY(%(ids)s::uuid[]) AND e.fencing_token = o.token
      AND CASE e.status WHEN 'QUEUED' THEN true ELSE false END  -- As in finish.
    RETURNING e.id, e.tenant_id, e.task_id
), logged AS (
    INSERT INTO events (tenant_id, name, subjects, tasks)
    SELECT tenant_id, 'execution.started', array_agg(id), array_agg(task_id)
    FROM moved GROUP BY tenant_id
)
SELECT id, task_id FROM moved

-- name: plan_hashed
-- Goes before a statement that joins a batch with the open rows: a planner that expects one row in
-- place of many would compare every pair. Ends with plan_freely, or with the transaction.
SET LOCAL enable_nestloop = off

-- name: plan_freely
-- Goes after it: later statements find their rows one by one.
SET LOCAL enable_nestloop TO DEFAULT

-- part: outcomes
-- What workers report of attempts, a row each. An array that is NULL gives all rows the value of an
-- immediate success.
outcomes AS (
    SELECT id, token, coalesce(status, 'SUCCEEDED') AS status, coalesce(reason, '') AS reason,
           coalesce(delay, 0) AS delay, attempt_id, coalesce(outcome, 'SUCCEEDED') AS outcome,
           worker, started_at, finished_at, response_status,
           coalesce(error_code, '') AS error_code, coalesce(error_message, '') AS error_message,
           timings, sealed, coalesce(lost, 0) AS lost, result
    FROM unnest(
        %(ids)s::uuid[], %(tokens)s::bigint[], %(statuses)s::text[], %(reasons)s::text[],
        %(delays)s::float8[], %(attempt_ids)s::uuid[], %(outcomes)s::text[],
        %(workers)s::text[], %(started_at)s::timestamptz[], %(finished_at)s::timestamptz[],
        %(response_status)s::smallint[], %(error_codes)s::text[], %(error_messages)s::text[],
        %(timings)s::text[], %(sealed)s::bytea[], %(lost)s::smallint[], %(results)s::bytea[]
    ) AS o (id, token, status, reason, delay, attempt_id, outcome, worker, started_at,
            finished_at, response_status, error_code, error_message, timings, sealed, lost, result)
)

-- part: ended
-- The open rows that end, taken out of the table under their tokens, with their last values. A stale
-- token, work that is neither QUEUED nor RUNNING, and a retry that is still wanted stay.
ended AS (
    DELETE FROM open_executions e USING outcomes o
    -- By their ids, and the status in an expression: the index of leased work would read all of it
    -- for each batch.
    WHERE e.id = o.id AND e.id = ANY(%(ids)s::uuid[]) AND e.fencing_token = o.token AND CASE
        WHEN e.status IN ('QUEUED', 'RUNNING') THEN true ELSE false END
      AND (o.status <> 'RETRYING' OR e.cancel_requested_at IS NOT NULL)
    RETURNING e.*, CASE o.status WHEN 'RETRYING' THEN 'CANCELLED' ELSE o.status END AS final,
        -- A run that was asked to free its place ends with the reason of the overlap. Work that
        -- waits for the end of a pause has that reason until its end, and no longer.
        CASE WHEN e.reason = 'overlap_cancelled' AND o.status IN ('CANCELLED', 'RETRYING')
                  OR e.reason = 'tenant_suspended' AND o.status = 'RETRYING' THEN e.reason
             WHEN e.reason IN ('overlap_cancelled', 'tenant_suspended', 'place_paused', 'run_paused')
                  OR o.reason <> ''
             THEN o.reason ELSE e.reason END AS why,
        (e.attempt + CASE WHEN e.status = 'QUEUED' THEN 1 ELSE 0 END)::smallint AS number,
        (e.lost_count + o.lost)::smallint AS lost,
        coalesce(e.started_at, o.started_at) AS first_started_at, o.started_at AS began_at,
        coalesce(e.start_delay_ms,
                 extract(epoch FROM o.started_at - e.due_at)::float8 * 1000) AS delay_ms,
        coalesce(o.finished_at, now()) AS ended_at,
        CASE WHEN o.worker <> '' THEN o.worker ELSE e.worker END AS by_worker,
        o.attempt_id, o.outcome, o.response_status AS answer, o.error_code AS code,
        o.error_message AS message, o.timings, o.sealed, o.result
)

-- name: finish
-- Moves QUEUED or RUNNING to its end, under the token: the row leaves the open ones and is written
-- to the history, with its attempt and its event. Exactly one outcome per attempt: a stale token
-- moves nothing. The row of an execution that had ended before leaves, too, and its last column is
-- false. A retry whose cancel was requested ends CANCELLED: try_again, which runs first, leaves it.
WITH -- parts: outcomes, ended
kept AS (
    INSERT INTO ended_executions (
        id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
        trigger, scheduled_for, due_at, queued_at, started_at, finished_at, start_delay_ms, attempt,
        max_attempts, lost_count, timeout_seconds, fencing_token, incarnation, worker, held, counted,
        series_id, cancel_requested_at, response_status, error_code, error_message, accepted_at,
        sealed_payload, sealed_progress, sealed_result, parent_id, trace_context, created_at,
        run_id, step, item, take, concurrency_key)
    SELECT id, tenant_id, task_id, partition, priority, pool, destination, revision, final, why,
           trigger, scheduled_for, due_at, queued_at, first_started_at, ended_at, delay_ms, number,
           max_attempts, lost, timeout_seconds, fencing_token, '', by_worker, held, counted,
           series_id, cancel_requested_at, coalesce(answer, response_status), code, message,
           accepted_at, sealed_payload, sealed_progress, coalesce(result, sealed_result), parent_id,
           trace_context, created_at, run_id, step, item, take, concurrency_key
    FROM ended
    ON CONFLICT (id) DO NOTHING RETURNING id
), tried AS (
    INSERT INTO attempts (
        id, execution_id, tenant_id, number, fencing_token, worker, due_at, queued_at, started_at,
        finished_at, outcome, error_code, error_message, response_status, timings, sealed_response)
    SELECT attempt_id, id, tenant_id, number, fencing_token, by_worker, due_at, queued_at, began_at,
           ended_at, outcome, code, message, answer, timings::jsonb, sealed
    FROM ended
    ON CONFLICT (execution_id, id) DO NOTHING
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id, subjects, tasks)
    SELECT tenant_id, 'execution.' || lower(final), id, task_id, NULL::uuid[], NULL::uuid[]
    FROM ended WHERE final <> 'SUCCEEDED'
    UNION ALL
    SELECT tenant_id, 'execution.succeeded', NULL, NULL, array_agg(id), array_agg(task_id)
    FROM ended WHERE final = 'SUCCEEDED' GROUP BY tenant_id
), told AS (
    INSERT INTO workflow_inbox (run_id, kind, step, item, take, execution_id, status)
    SELECT run_id, 'ended', step, item, take, id, final FROM ended WHERE run_id IS NOT NULL
)
SELECT id, tenant_id, final, number,
       -- The tenant's own worker decides when leased work starts.
       CASE WHEN pool NOT LIKE 'pull.%%' THEN delay_ms END,
       date_trunc('minute', least(ended_at, now()), 'UTC'),
       task_id, trigger, revision, ended_at,
       CASE WHEN counted OR key_place > 0 THEN task_id END,
       final <> 'SUCCEEDED', why, trace_context, run_id,
       greatest(coalesce(round(extract(epoch FROM ended_at - began_at) * 1000), 0), 0)::bigint,
       coalesce(octet_length(sealed), 0),
       CASE WHEN pool NOT LIKE 'pull.%%'
            THEN extract(epoch FROM began_at - greatest(due_at, queued_at))::float8 * 1000 END,
       priority, id IN (SELECT id FROM kept)
FROM ended

-- name: try_again
-- Moves QUEUED or RUNNING to RETRYING, under the token, with the attempt and the event, unless its
-- cancel was requested. Returns the columns of finish.
WITH -- parts: outcomes
moved AS (
    UPDATE open_executions e
    SET status = 'RETRYING',
        -- A run that was asked to free its place ends with the reason of the overlap. Work that
        -- waits for the end of a pause has that reason until then.
        reason = CASE WHEN e.reason IN ('overlap_cancelled', 'tenant_suspended', 'place_paused',
                                        'run_paused') OR o.reason = ''
                      THEN e.reason ELSE o.reason END,
        attempt = e.attempt + CASE WHEN e.status = 'QUEUED' THEN 1 ELSE 0 END,
        lost_count = e.lost_count + o.lost,
        worker = CASE WHEN o.worker <> '' THEN o.worker ELSE e.worker END,
        started_at = coalesce(e.started_at, o.started_at),
        start_delay_ms = coalesce(e.start_delay_ms,
            extract(epoch FROM o.started_at - e.due_at)::float8 * 1000),
        due_at = now() + o.delay * interval '1 second', lease_expires_at = NULL,
        -- The next attempt is not accepted yet.
        accepted_at = NULL, response_status = coalesce(o.response_status, e.response_status),
        error_code = o.error_code, error_message = o.error_message,
        sealed_result = coalesce(o.result, e.sealed_result),
        -- Gives back its key's place until the next attempt, unless the key is in strict order.
        held = e.held OR coalesce(e.key_place = 1, false),
        key_place = CASE WHEN e.key_place = 1 THEN -e.held::integer ELSE e.key_place END
    FROM outcomes o
    WHERE e.id = o.id AND e.id = ANY(%(ids)s::uuid[]) AND e.fencing_token = o.token AND CASE
        WHEN e.status IN ('QUEUED', 'RUNNING') AND e.cancel_requested_at IS NULL THEN true
        ELSE false END
    RETURNING e.id, e.tenant_id, e.task_id, e.trigger, e.revision, e.attempt, e.fencing_token,
              e.worker, e.pool, e.priority, e.start_delay_ms, e.queued_at, old.due_at AS was_due,
              old.key_place = 1 AS leaves, e.trace_context
), tried AS (
    INSERT INTO attempts (
        id, execution_id, tenant_id, number, fencing_token, worker, due_at, queued_at, started_at,
        finished_at, outcome, error_code, error_message, response_status, timings, sealed_response)
    SELECT o.attempt_id, m.id, m.tenant_id, m.attempt, m.fencing_token, m.worker, m.was_due,
           m.queued_at, o.started_at, coalesce(o.finished_at, now()), o.outcome, o.error_code,
           o.error_message, o.response_status, o.timings::jsonb, o.sealed
    FROM moved m JOIN outcomes o ON o.id = m.id AND o.token = m.fencing_token
    ON CONFLICT (execution_id, id) DO NOTHING
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT tenant_id, 'execution.retrying', id, task_id FROM moved
)
SELECT m.id, m.tenant_id, 'RETRYING', m.attempt,
       CASE WHEN m.pool NOT LIKE 'pull.%%' THEN m.start_delay_ms END,
       date_trunc('minute', least(coalesce(o.finished_at, now()), now()), 'UTC'),
       m.task_id, m.trigger, m.revision, NULL::timestamptz, CASE WHEN m.leaves THEN m.task_id END,
       false, '', m.trace_context, NULL::uuid,
       greatest(coalesce(round(extract(epoch FROM coalesce(o.finished_at, now()) - o.started_at)
                               * 1000), 0), 0)::bigint,
       coalesce(octet_length(o.sealed), 0),
       CASE WHEN m.pool NOT LIKE 'pull.%%'
            THEN extract(epoch FROM o.started_at - greatest(m.was_due, m.queued_at))::float8 * 1000
            END, m.priority, true
FROM moved m JOIN outcomes o ON o.id = m.id AND o.token = m.fencing_token

-- name: lock_free
-- Locks the executions, and their tasks, that no other session changes in this moment, without
-- waiting; returns the executions that it did not lock. Primary keys.
WITH free AS MATERIALIZED (
    SELECT e.id, e.task_id FROM open_executions e
    WHERE e.id = ANY(%(ids)s)
    ORDER BY e.id FOR NO KEY UPDATE SKIP LOCKED
), free_tasks AS MATERIALIZED (
    SELECT t.id FROM tasks t WHERE t.id IN (SELECT task_id FROM free)
    ORDER BY t.id FOR NO KEY UPDATE SKIP LOCKED
)
SELECT e.id FROM open_executions e
WHERE e.id = ANY(%(ids)s)
  AND NOT EXISTS (
      SELECT FROM free f JOIN free_tasks t ON t.id = f.task_id WHERE f.id = e.id)

-- name: note_progress
-- Stores the progress of running work, under its token; no state changes. The start of an execution
-- that started and reported within one batch of the recorder may not be recorded yet.
UPDATE open_executions e
SET sealed_progress = o.sealed
FROM unnest(%(ids)s::uuid[], %(tokens)s::bigint[], %(sealed)s::bytea[]) AS o (id, token, sealed)
WHERE e.id = o.id AND e.id = ANY(%(ids)s::uuid[]) AND e.fencing_token = o.token
  AND CASE WHEN e.status IN ('QUEUED', 'RUNNING') THEN true ELSE false END  -- As in finish.
RETURNING e.id

-- name: hand_back
-- Moves QUEUED to PENDING under the token, for work that was withdrawn or released before its
-- start: no attempt is used. The event keeps queued_at, which the row loses.
WITH moved AS (
    UPDATE open_executions e
    SET status = 'PENDING', lease_expires_at = NULL, queued_at = NULL
    FROM unnest(%(ids)s::uuid[], %(tokens)s::bigint[]) AS o (id, token)
    WHERE e.id = o.id AND e.id = ANY(%(ids)s::uuid[]) AND e.fencing_token = o.token
      AND CASE e.status WHEN 'QUEUED' THEN true ELSE false END  -- As in finish.
    RETURNING e.id, e.tenant_id, e.task_id, old.queued_at
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id, data)
    SELECT tenant_id, %(event)s, id, task_id, jsonb_build_object('queued_at', queued_at) FROM moved
)
SELECT id, task_id FROM moved

-- name: defer
-- Moves QUEUED to PENDING under the token, parked: its destination has no capacity. Work whose tenant
-- has reached a limit is not parked: dispatch leaves out the tenant. No attempt is used and its due
-- time stays. The event keeps queued_at, which the row loses, and the limit. An existing reason, for
-- which the execution was made, stays, too.
WITH moved AS (
    UPDATE open_executions e
    SET status = 'PENDING', lease_expires_at = NULL, queued_at = NULL, parked = o.quota = '',
        reason = CASE WHEN e.reason = '' THEN o.reason ELSE e.reason END
    FROM unnest(
        %(ids)s::uuid[], %(tokens)s::bigint[], %(reasons)s::text[], %(quotas)s::text[],
        %(until)s::timestamptz[]
    ) AS o (id, token, reason, quota, until)
    WHERE e.id = o.id AND e.id = ANY(%(ids)s::uuid[]) AND e.fencing_token = o.token
      AND CASE e.status WHEN 'QUEUED' THEN true ELSE false END  -- As in finish.
    RETURNING e.id, e.tenant_id, e.task_id, old.queued_at, o.quota, o.until
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id, data)
    SELECT tenant_id, 'execution.deferred', id, task_id,
           jsonb_build_object('queued_at', queued_at) || CASE WHEN quota = '' THEN '{}'
               ELSE jsonb_build_object('limit', quota, 'until', until) END
    FROM moved
)
SELECT id, task_id FROM moved

-- name: cancel
-- Moves PENDING, RETRYING or (voided) QUEUED to CANCELLED, in the history; the last column is that
-- of finish.
WITH gone AS (
    DELETE FROM open_executions e
    USING unnest(%(ids)s::uuid[], %(tokens)s::bigint[]) AS o (id, token)
    WHERE e.id = o.id AND e.id = ANY(%(ids)s::uuid[])
      AND (e.status IN ('PENDING', 'RETRYING')
           OR (e.status = 'QUEUED' AND e.fencing_token = o.token))
    RETURNING e
), kept AS (
    INSERT INTO ended_executions
    SELECT r.* FROM gone g CROSS JOIN LATERAL jsonb_populate_record(g.e, jsonb_build_object(
        'status', 'CANCELLED', 'reason', %(reason)s::text, 'finished_at', now(),
        'lease_expires_at', NULL, 'gated', false, 'key_place', NULL,
        'cancel_requested_at', coalesce((g.e).cancel_requested_at, now()))) AS r
    ON CONFLICT (id) DO NOTHING RETURNING id
), logged AS (
    INSERT INTO events (tenant_id, name, subject_id, task_id)
    SELECT (e).tenant_id, 'execution.cancelled', (e).id, (e).task_id FROM gone
), told AS (
    INSERT INTO workflow_inbox (run_id, kind, step, item, take, execution_id, status)
    SELECT (e).run_id, 'ended', (e).step, (e).item, (e).take, (e).id, 'CANCELLED'
    FROM gone WHERE (e).run_id IS NOT NULL
)
SELECT (e).id, (e).task_id, (e).trigger, (e).revision, now(),
       CASE WHEN (e).counted OR (e).key_place > 0 THEN (e).task_id END, (e).run_id, (e).id IN (SELECT id FROM kept)
FROM gone

-- name: request_cancel
-- Marks running executions as to be cancelled, with a reason where one is given and no cancel was
-- requested before; their holder aborts the request and reports CANCELLED. A holder other than our
-- workers gets the mark with its next heartbeat, and its attempt is ended when the grace is over.
-- A run of a workflow has no holder: it is told to cancel its steps, and the last column names it.
WITH marked AS (
    UPDATE open_executions e
    SET cancel_requested_at = coalesce(e.cancel_requested_at, now()),
        lease_expires_at = CASE WHEN e.accepted_at IS NULL THEN e.lease_expires_at
            ELSE least(e.lease_expires_at, coalesce(e.cancel_requested_at, now())
                + %(grace)s * interval '1 second') END,
        reason = CASE WHEN %(reason)s <> '' AND e.cancel_requested_at IS NULL THEN %(reason)s
                      ELSE e.reason END
    WHERE e.id = ANY(%(ids)s) AND e.status = 'RUNNING'
    RETURNING e.id, e.task_id, e.pool
), told AS (
    INSERT INTO workflow_inbox (run_id, kind, execution_id)
    SELECT r.id, 'cancel', m.id FROM marked m JOIN workflow_runs r ON r.execution_id = m.id
    WHERE m.pool = 'workflow' RETURNING run_id, execution_id
)
SELECT m.id, m.task_id, t.run_id FROM marked m LEFT JOIN told t ON t.execution_id = m.id

-- name: failed_unstarted
-- Returns executions that have failed without a start in this transaction, with the columns of
-- finish. Primary keys of the days between the bounds.
SELECT e.id, e.tenant_id, e.status, e.attempt, NULL::float8, date_trunc('minute', e.finished_at, 'UTC'),
       e.task_id, e.trigger, e.revision, e.finished_at, NULL::uuid, true, e.reason, e.trace_context,
       e.run_id, 0, 0, NULL::float8, e.priority, true
FROM ended_executions e
WHERE e.id = ANY(%(ids)s::uuid[]) AND e.id >= %(low)s AND e.id <= %(high)s AND e.status = 'FAILED'
  AND e.attempt = 0 AND e.finished_at = now()

-- name: insert_dead_letters
-- Inserts one dead letter per execution that failed for good, in the transaction that fails it; the
-- payload is copied as it is, encrypted, or named by the task's version. Counts them for metrics.
WITH made AS (
    INSERT INTO dead_letters (
        id, tenant_id, task_id, execution_id, error_code, error_message, error_signature,
        attempt_count, revision, sealed_payload, resolved, resolution, note, resolved_by, created_at
    )
    SELECT d.id, e.tenant_id, e.task_id, e.id, e.error_code, e.error_message, d.signature,
           e.attempt, e.revision, e.sealed_payload, false, '', '', '', now()
    FROM unnest(%(ids)s::uuid[], %(execution_ids)s::uuid[], %(signatures)s::text[])
         AS d (id, execution_id, signature)
    JOIN ended_executions e
      ON e.id = d.execution_id AND e.id >= %(low)s AND e.id <= %(high)s AND e.status = 'FAILED'
    ON CONFLICT (execution_id) DO NOTHING
    RETURNING id
)
INSERT INTO metric_totals (series, counts)
SELECT ARRAY['dead_letters'], ARRAY[count(*)] FROM made HAVING count(*) > 0

-- name: lock_tasks
-- Locks tasks in order of id, which prevents the deadlock of two sessions that share tasks, and
-- closes the race with a change of one; returns the ones with a cursor, and whether their work waits
-- for the gate. A statement of its own, so that the next one reads cursors and open work as they are
-- once the locks are held.
WITH locked AS MATERIALIZED (
    SELECT t.id, t.type, t.limited FROM tasks t WHERE t.id = ANY(%(task_ids)s::uuid[])
    ORDER BY t.id FOR NO KEY UPDATE
)
SELECT id, limited FROM locked WHERE type <> 'ONE_TIME'

-- name: note_last_runs
-- After lock_tasks: stores the last execution of each recurring task with its cursor, which is
-- narrow. Each task is given once. Cursors are found by their places, which the lock of the task
-- keeps. Index task_cursors_of_task_idx, read backwards: the newest version has the latest instant,
-- so the scan reads no older version that an open transaction keeps. nullif keeps the planner from
-- joining by an index scan on task_id, which would read every version. Returns the tasks that may
-- have had their last occurrence; they stay locked.
WITH ended AS MATERIALIZED (
    SELECT * FROM unnest(
        %(task_ids)s::uuid[], %(ids)s::uuid[], %(statuses)s::text[], %(triggers)s::text[],
        %(succeeded_at)s::timestamptz[]
    ) AS e (task_id, execution_id, status, trigger, succeeded_at)
), ran AS (
    UPDATE task_cursors k
    SET last_execution_id = e.execution_id, last_execution_status = e.status,
        last_execution_at = now(), last_success_at = greatest(k.last_success_at, e.succeeded_at)
    FROM ended e
    WHERE nullif(k.task_id, '00000000-0000-0000-0000-000000000000') = e.task_id
      AND k.ctid = ANY(ARRAY(
        SELECT (SELECT c.ctid FROM task_cursors c WHERE c.task_id = n.task_id
                ORDER BY c.next_run_at DESC LIMIT 1)
        FROM ended n))
    RETURNING k.task_id, k.next_run_at IS NULL AND e.status <> 'RETRYING'
        AND e.trigger IN ('schedule', 'retry') AS may_be_over
)
SELECT r.task_id FROM ran r
WHERE r.may_be_over AND (
    SELECT t.status FROM tasks t WHERE t.id = r.task_id) IN ('SCHEDULED', 'RUNNING')

-- name: lock_one_time_tasks
-- Locks the one-time tasks among these that wait, as lock_tasks does.
SELECT t.id FROM tasks t
WHERE t.id = ANY(%(task_ids)s::uuid[]) AND t.type = 'ONE_TIME' AND t.status = 'SCHEDULED'
ORDER BY t.id FOR NO KEY UPDATE
