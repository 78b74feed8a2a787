-- name: plain_forms
-- Values as text are the same whatever the server's defaults are.
SELECT set_config('datestyle', 'ISO, YMD', false), set_config('bytea_output', 'hex', false),
       set_config('timezone', 'UTC', false), set_config('extra_float_digits', '1', false)

-- name: columns
-- The columns of a table with their types, in order.
SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum

-- name: schema
-- The last migration of each app, by which a later version knows what it reads.
SELECT app, max(name) FROM django_migrations WHERE app = ANY(%(apps)s::text[]) GROUP BY app

-- name: write
-- A table as CSV in the order of its ids. Every value stands in quotes, so that NULL and an empty
-- text stay two things.
COPY (SELECT {columns} FROM {table} ORDER BY id) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)

-- name: load
-- What write has written, back into a table; columns that were not there yet get their defaults.
COPY {table} ({columns}) FROM STDIN (FORMAT csv, HEADER)

-- name: stage
-- Where a later part of a day is loaded before its rows take the place of earlier ones.
CREATE TEMPORARY TABLE {staged} (LIKE {table} INCLUDING DEFAULTS) ON COMMIT DROP

-- name: remove_replaced
-- Makes room for the rows of a later part.
DELETE FROM {table} WHERE id IN (SELECT id FROM {staged})

-- name: add_staged
-- The rows of a later part.
INSERT INTO {table} SELECT * FROM {staged}

-- name: leave_out_strangers
-- What belongs to tenants that were removed since does not come back.
DELETE FROM {table} AS t WHERE NOT EXISTS (SELECT 1 FROM tenants WHERE tenants.id = t.tenant_id)

-- name: count
-- The rows of a table that is about to come back.
SELECT count(*) FROM {table}

-- name: analyze
-- What the planner has to know before anybody asks.
ANALYZE {table}

-- name: tables_of_day
-- The tables of a day (YYYYMMDD): in the ledger, or on their way out.
SELECT c.relname::text FROM pg_class c
WHERE c.relname ~ ('^(executions|attempts|events)_' || %(day)s::text || '(_leaving_[0-9]+)?$')
  AND c.relkind = 'r' AND pg_table_is_visible(c.oid)
ORDER BY c.relname

-- name: returning
-- What a restore that was cut off has left.
SELECT c.relname::text FROM pg_class c
WHERE c.relname ~ '^(executions|attempts|events)_[0-9]{8}_returning$' AND c.relkind = 'r'
  AND pg_table_is_visible(c.oid)

-- name: unfinished_of_day
-- How many executions of a day's table are not at their end.
SELECT count(*) FROM {table} WHERE status IN ('PENDING', 'QUEUED', 'RUNNING', 'RETRYING')

-- name: open_of_day
-- Executions of a day that may still change, and are not among its rows yet. Primary key.
SELECT count(*) FROM open_executions e WHERE e.id >= %(low)s AND e.id < %(high)s
