-- name: fix_items
-- Writes down which rows a bulk job is about, in order of their ids; inside is the query of the
-- filters, so that what was counted and what is fixed are chosen by the same words.
INSERT INTO bulk_job_items (job_id, position, item_id, code, message)
SELECT %s, row_number() OVER (ORDER BY found.id) - 1, found.id, '', ''
FROM ({rows}) AS found (id)

-- name: settle_items
-- Notes what became of a step's items, in the transaction of their effect. By primary key; an
-- item is settled once.
UPDATE bulk_job_items i
SET outcome = r.outcome, code = r.code, message = r.message, result_id = r.result_id
FROM unnest(
    %(positions)s::int[], %(outcomes)s::text[], %(codes)s::text[], %(messages)s::text[],
    %(result_ids)s::uuid[]
) AS r (position, outcome, code, message, result_id)
WHERE i.job_id = %(job)s AND i.position = r.position AND i.outcome IS NULL

-- name: skip_remaining
-- Leaves out what an ended job has not reached, so that its counts add up. By primary key.
UPDATE bulk_job_items i
SET outcome = 'skipped', code = %(code)s
WHERE i.job_id = %(job)s AND i.position >= %(position)s AND i.outcome IS NULL

-- name: take_time
-- Lets this transaction write a million rows, which may take longer than a statement is given.
SET LOCAL statement_timeout = '300s'
