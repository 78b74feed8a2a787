-- name: blank_task
-- Takes the content out of a deleted task; its ids, times, states and counts stay. By primary key.
UPDATE tasks
SET name = 'erased', labels = '{}', owner = '', destination = '', pause_note = '',
    trace_context = NULL, export_key = NULL, concurrency_key = NULL, concurrency_max = NULL,
    concurrency_fifo = NULL
WHERE id = %(task)s AND deleted_at IS NOT NULL

-- name: versions_with_content
-- Returns some versions of a task that have content still. Index of the constraint
-- one_revision_per_task_and_version.
SELECT version, definition FROM task_revisions
WHERE task_id = %(task)s AND NOT definition ? 'erased' ORDER BY version LIMIT %(limit)s

-- name: blank_version
-- Puts a definition without content in the place of a version's. By the same index.
UPDATE task_revisions SET definition = %(plain)s::jsonb, sealed = %(sealed)s
WHERE task_id = %(task)s AND version = %(version)s
