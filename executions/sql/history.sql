-- name: insert_executions
-- Inserts finished executions of a past time, for demonstrations: marked by trigger and reason, and
-- without events, so that they cause no alerts. Keeps an existing id; returns the new ones, with
-- what their counts need.
INSERT INTO ended_executions (
    id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason, trigger,
    scheduled_for, due_at, queued_at, started_at, finished_at, start_delay_ms, attempt,
    max_attempts, lost_count, timeout_seconds, incarnation, worker, held, response_status,
    error_code, error_message, created_at
)
SELECT s.id, t.tenant_id, t.id, t.partition,
       t.priority, 'default', t.destination, t.version, s.status, %(mark)s, 'backfill', s.at, s.due_at, s.due_at,
       s.started_at, s.finished_at, s.delay, s.attempts, s.most, 0, s.timeout, '', %(mark)s,
       false, s.answer, s.code, s.message, s.at
FROM unnest(
    %(ids)s::uuid[], %(tasks)s::uuid[], %(at)s::timestamptz[], %(statuses)s::text[],
    %(started_at)s::timestamptz[], %(finished_at)s::timestamptz[], %(delays)s::float8[],
    %(attempts)s::smallint[], %(answers)s::smallint[], %(codes)s::text[], %(messages)s::text[],
    %(due_at)s::timestamptz[], %(most)s::smallint[], %(timeouts)s::float8[]
) AS s (id, task_id, at, status, started_at, finished_at, delay, attempts, answer, code, message,
        due_at, most, timeout)
JOIN tasks t ON t.id = s.task_id AND t.tenant_id = %(tenant)s
ON CONFLICT (id) DO NOTHING
RETURNING id, revision, priority

-- name: insert_attempts
-- Inserts the attempts of such executions; none was handed out, so their fencing token is 0.
INSERT INTO attempts (
    id, execution_id, tenant_id, number, fencing_token, worker, due_at, started_at, finished_at,
    outcome, error_code, error_message, response_status, timings, sealed_response
)
SELECT a.id, a.execution_id, %(tenant)s, a.number, 0, %(mark)s, a.due_at, a.started_at,
       a.finished_at, a.outcome, a.code, a.message, a.answer,
       jsonb_build_object('total', extract(epoch FROM a.finished_at - a.started_at) * 1000),
       a.sealed
FROM unnest(
    %(ids)s::uuid[], %(executions)s::uuid[], %(numbers)s::smallint[],
    %(started_at)s::timestamptz[], %(finished_at)s::timestamptz[], %(outcomes)s::text[],
    %(codes)s::text[], %(messages)s::text[], %(answers)s::smallint[], %(sealed)s::bytea[],
    %(due_at)s::timestamptz[]
) AS a (id, execution_id, number, started_at, finished_at, outcome, code, message, answer, sealed,
        due_at)
ON CONFLICT (execution_id, id) DO NOTHING

-- name: insert_letters
-- Inserts one dead letter for each of them that failed, with the time of the failure.
INSERT INTO dead_letters (
    id, tenant_id, task_id, execution_id, error_code, error_message, error_signature,
    attempt_count, revision, resolved, resolution, note, resolved_by, created_at
)
SELECT d.id, e.tenant_id, e.task_id, e.id, e.error_code, e.error_message, d.signature, e.attempt,
       e.revision, false, '', '', '', e.finished_at
FROM unnest(%(ids)s::uuid[], %(executions)s::uuid[], %(signatures)s::text[])
     AS d (id, execution_id, signature)
JOIN ended_executions e ON e.id = d.execution_id AND e.id >= %(low)s AND e.id <= %(high)s
WHERE e.status = 'FAILED'
ON CONFLICT (execution_id) DO NOTHING
