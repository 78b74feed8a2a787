-- name: still_open
-- Returns the unfinished executions of a task. Index open_executions_of_task_idx.
SELECT id FROM open_executions WHERE task_id = %(task)s ORDER BY id

-- name: next_executions
-- Returns the next ended executions of a task, in order of ids: an interrupted erasure goes on
-- behind the last ones. Index executions_of_task_idx of each day.
SELECT id FROM ended_executions
WHERE task_id = %(task)s AND id > %(after)s ORDER BY id LIMIT %(limit)s

-- name: blank_executions
-- Takes the content out of ended executions; ids, times, states and codes stay. Primary keys of the
-- days between the bounds.
UPDATE ended_executions
SET destination = '', error_message = '', worker = '', trace_context = NULL, concurrency_key = NULL,
    sealed_payload = NULL, sealed_progress = NULL, sealed_result = NULL
WHERE id = ANY(%(ids)s::uuid[]) AND id >= %(low)s AND id < %(high)s

-- name: blank_attempts
-- Takes the content out of the attempts of executions. Index attempts_of_execution_idx of the days
-- between the bounds.
UPDATE attempts
SET error_message = '', worker = '', sealed_response = NULL,
    -- Units are words of the receiver.
    timings = timings - 'cost'
WHERE execution_id = ANY(%(ids)s::uuid[]) AND id >= %(low)s AND id < %(high)s

-- name: next_letters
-- Returns the next dead letters of a task, in order of ids. They outlive the days of their
-- executions. Index of the foreign key.
SELECT id FROM dead_letters WHERE task_id = %(task)s AND id > %(after)s ORDER BY id LIMIT %(limit)s

-- name: blank_letters
-- Takes the content out of dead letters. By primary key.
UPDATE dead_letters
SET error_message = '', sealed_payload = NULL, sealed_edit = NULL, note = ''
WHERE id = ANY(%(ids)s::uuid[])

-- name: blank_jobs
-- Takes the payload out of ended bulk jobs that have acted on some of these rows: tasks, executions
-- or dead letters. Index bulk_jobs_of_tenant_idx; reads the items of jobs with a payload alone.
UPDATE bulk_jobs j SET sealed_payload = NULL
WHERE j.tenant_id = %(tenant)s AND j.sealed_payload IS NOT NULL AND j.finished_at IS NOT NULL
  AND EXISTS (
    SELECT FROM bulk_job_items i
    WHERE i.job_id = j.id
      AND (i.item_id = ANY(%(ids)s::uuid[]) OR i.result_id = ANY(%(ids)s::uuid[])))

-- name: blank_job_names
-- Takes the names out of bulk jobs over the task, and of those that have a name of it in theirs; it
-- had others in earlier versions. A name of less than three letters is in too many words. Index
-- bulk_jobs_of_tenant_idx; reads the items of jobs over tasks alone.
UPDATE bulk_jobs j SET name = 'erased'
WHERE j.tenant_id = %(tenant)s AND j.name NOT IN ('', 'erased')
  AND (j.filters ->> 'task' = %(task)s::text
    OR j.kind = 'tasks' AND EXISTS (
      SELECT FROM bulk_job_items i WHERE i.job_id = j.id AND i.item_id = %(task)s)
    OR EXISTS (
      SELECT FROM (
        SELECT name FROM tasks WHERE id = %(task)s
        UNION SELECT definition ->> 'name' FROM task_revisions WHERE task_id = %(task)s) AS had
      WHERE length(had.name) >= 3 AND strpos(lower(j.name), lower(had.name)) > 0))

-- name: job_is_active
-- Returns whether a bulk job with a payload, that has not ended, has this task, a letter or an
-- execution of it among its rows. Index bulk_jobs_due_idx; each row by its primary key.
SELECT EXISTS (
    SELECT FROM bulk_jobs j JOIN bulk_job_items i ON i.job_id = j.id
    LEFT JOIN dead_letters d ON d.id = i.item_id
    WHERE j.status IN ('PENDING', 'RUNNING') AND j.tenant_id = %(tenant)s
      AND j.sealed_payload IS NOT NULL
      AND (i.item_id = %(task)s OR d.task_id = %(task)s OR d.id IS NULL
           AND (SELECT e.task_id FROM executions e WHERE e.id = i.item_id) = %(task)s))

-- name: alerts_of_task
-- Returns the alerts that show the task of an erasure, and whether they are about it alone.
-- Index alerts_of_tenant_idx.
SELECT id, task_count <= 1 FROM alerts WHERE tenant_id = %(tenant)s AND task_id = %(task)s

-- name: remove_deliveries
-- Removes the deliveries of alerts, before them. Index of the foreign key.
DELETE FROM alert_deliveries WHERE alert_id = ANY(%(alerts)s::uuid[])

-- name: remove_alert_tasks
-- Removes the tasks of alerts, before them. Index of the foreign key.
DELETE FROM alert_tasks WHERE alert_id = ANY(%(alerts)s::uuid[])

-- name: remove_mutes
-- Removes the mutes of alerts, before them. Index of the foreign key.
DELETE FROM alert_mutes WHERE alert_id = ANY(%(alerts)s::uuid[])

-- name: remove_alerts
-- Removes alerts that were about one task alone. By primary key.
DELETE FROM alerts WHERE id = ANY(%(alerts)s::uuid[])

-- name: blank_alerts
-- Takes what the first failure has told out of alerts that are about other tasks as well. By
-- primary key.
UPDATE alerts SET task_name = 'erased', error_message = '', cause = error_code
WHERE id = ANY(%(alerts)s::uuid[])

-- name: blank_admin_log
-- Takes the names of the task and its rows out of the log of the admin's pages, which is short.
UPDATE django_admin_log SET object_repr = 'erased', change_message = ''
WHERE object_id = %(task)s::text

-- name: blank_budget_events
-- Takes the units of its budgets, which are words of users, out of the events of a task. Index
-- events_of_subject_idx.
UPDATE events SET data = data || '{"unit": "erased"}'
WHERE subject_id = %(task)s AND name IN ('budget.near', 'budget.exceeded')

-- name: answers_after
-- Returns some stored answers of the tenant's calls, in order of their ids.
SELECT id, key, sealed_body FROM idempotency_records
WHERE tenant_id = %(tenant)s AND id > %(after)s ORDER BY id LIMIT %(limit)s

-- name: blank_answers
-- Puts answers without content in the place of stored ones, unless a call has replaced them. By
-- primary key.
UPDATE idempotency_records r SET sealed_body = o.sealed
FROM unnest(%(ids)s::bigint[], %(old)s::bytea[], %(sealed)s::bytea[]) AS o (id, old, sealed)
WHERE r.id = o.id AND r.sealed_body = o.old

-- name: audit_digest
-- Returns how many audit entries there are about the task, and a SHA-256 over their hashes in order.
-- Index audit_entries_of_object_idx.
SELECT count(*), encode(sha256(coalesce(string_agg(hash, ''::bytea ORDER BY sequence), '')), 'hex')
FROM audit_entries
WHERE tenant_id = %(tenant)s AND object_kind = 'task' AND object_id = %(task)s::text

-- name: audit_digest_of_all
-- Returns how many audit entries a tenant has, and a SHA-256 over their hashes in order. Index of
-- the constraint audit_sequence_is_unique_in_a_tenant.
SELECT count(*), encode(sha256(coalesce(string_agg(hash, ''::bytea ORDER BY sequence), '')), 'hex')
FROM audit_entries WHERE tenant_id = %(tenant)s

-- name: take_turn
-- Allows one session at a time to erase a tenant; the lock ends with the session. Does not wait.
SELECT pg_try_advisory_lock(hashtextextended(%(tenant)s::uuid::text, 727304))

-- name: give_turn_back
-- Ends the turn at once.
SELECT pg_advisory_unlock(hashtextextended(%(tenant)s::uuid::text, 727304))
