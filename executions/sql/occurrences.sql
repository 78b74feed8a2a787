-- name: rows_between
-- Returns a task's rows of the ledger within a range, oldest first; a row's id begins with its
-- instant, so the bounds keep other days out. A span that began in the range's first millisecond
-- reaches into it. The last columns are the stretch without a scheduler in which the row may have
-- come due. Indexes executions_of_task_idx and unowned_stretches_idx.
SELECT e.id, e.scheduled_for, e.status, e.reason, e.revision, e.span_last, e.span_count, e.due_at,
       e.started_at, e.attempt, outage.since, outage.until
FROM executions e
LEFT JOIN LATERAL (
    SELECT u.since, u.until FROM unowned_stretches u
    WHERE u.partition = e.partition AND u.until > e.scheduled_for AND u.since <= e.due_at
    ORDER BY u.until LIMIT 1
) AS outage ON true
WHERE e.task_id = %(task)s AND e.id >= %(low)s AND e.id < %(high)s AND e.trigger = 'schedule'
  AND (e.scheduled_for >= %(since)s OR e.span_last >= %(since)s)
  AND e.scheduled_for <= %(until)s
ORDER BY e.id LIMIT %(limit)s

-- name: spans_over
-- Returns the spans that began before a range and reach into it. A span is the newest row before
-- the range, or one of the few before it: rows of a span's own stretch are rare. Index
-- executions_of_task_idx.
SELECT * FROM (
    SELECT e.id, e.scheduled_for, e.status, e.reason, e.revision, e.span_last, e.span_count
    FROM executions e
    WHERE e.task_id = %(task)s AND e.id < %(low)s AND e.trigger = 'schedule'
    ORDER BY e.id DESC LIMIT %(limit)s
) AS newest
WHERE span_count IS NOT NULL AND span_last >= %(since)s
ORDER BY id
