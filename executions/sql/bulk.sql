-- name: fix_items
-- Stores the rows of a bulk job, in order of their ids. The inner query is the one of the filters,
-- so that the same conditions choose the counted and the fixed rows.
INSERT INTO bulk_job_items (job_id, position, item_id, code, message)
SELECT %s, row_number() OVER (ORDER BY found.id) - 1, found.id, '', ''
FROM ({rows}) AS found (id)

-- name: settle_items
-- Notes the results of a step's items, in the transaction of their effect. By primary key; an item
-- is settled once.
UPDATE bulk_job_items i
SET outcome = r.outcome, code = r.code, message = r.message, result_id = r.result_id
FROM unnest(
    %(positions)s::int[], %(outcomes)s::text[], %(codes)s::text[], %(messages)s::text[],
    %(result_ids)s::uuid[]
) AS r (position, outcome, code, message, result_id)
WHERE i.job_id = %(job)s AND i.position = r.position AND i.outcome IS NULL

-- name: skip_remaining
-- Skips the items that an ended job has not reached, so that its counts add up. By primary key.
UPDATE bulk_job_items i
SET outcome = 'skipped', code = %(code)s
WHERE i.job_id = %(job)s AND i.position >= %(position)s AND i.outcome IS NULL

-- name: take_time
-- Allows this transaction to write a million rows, which may exceed the usual statement timeout.
SET LOCAL statement_timeout = '300s'
