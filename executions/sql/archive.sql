-- name: plain_forms
-- Makes values as text independent of the server's defaults.
SELECT set_config('datestyle', 'ISO, YMD', false), set_config('bytea_output', 'hex', false),
       set_config('timezone', 'UTC', false), set_config('extra_float_digits', '1', false)

-- name: columns
-- Returns the columns of a table with their types, in order.
SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum

-- name: schema
-- Returns the last migration of each app, by which a later version knows how to read the rows.
SELECT app, max(name) FROM django_migrations WHERE app = ANY(%(apps)s::text[]) GROUP BY app

-- name: write
-- Writes a table as CSV in the order of its ids. Every value is in quotes, so that NULL and an
-- empty text stay different.
COPY (SELECT {columns} FROM {table} ORDER BY id) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)

-- name: load
-- Loads the output of write into a table; columns that did not exist then get their defaults.
COPY {table} ({columns}) FROM STDIN (FORMAT csv, HEADER)

-- name: stage
-- Makes the table for a later part of a day, before its rows replace earlier ones.
CREATE TEMPORARY TABLE {staged} (LIKE {table} INCLUDING DEFAULTS) ON COMMIT DROP

-- name: remove_replaced
-- Removes the rows that a later part replaces.
DELETE FROM {table} WHERE id IN (SELECT id FROM {staged})

-- name: add_staged
-- Adds the rows of a later part.
INSERT INTO {table} SELECT * FROM {staged}

-- name: leave_out_strangers
-- Leaves out the rows of tenants that were removed since.
DELETE FROM {table} AS t WHERE NOT EXISTS (SELECT 1 FROM tenants WHERE tenants.id = t.tenant_id)

-- name: count
-- Counts the rows of a table that is about to be restored.
SELECT count(*) FROM {table}

-- name: analyze
-- Gives the planner its statistics before the first query.
ANALYZE {table}

-- name: tables_of_day
-- Returns the tables of a day (YYYYMMDD): in the ledger, or leaving it.
SELECT c.relname::text FROM pg_class c
WHERE c.relname ~ ('^(executions|attempts|events|runs|steps)_' || %(day)s::text || '(_leaving_[0-9]+)?$')
  AND c.relkind = 'r' AND pg_table_is_visible(c.oid)
ORDER BY c.relname

-- name: returning
-- Returns the tables that an interrupted restore has left.
SELECT c.relname::text FROM pg_class c
WHERE c.relname ~ '^(executions|attempts|events|runs|steps)_[0-9]{8}_returning$' AND c.relkind = 'r'
  AND pg_table_is_visible(c.oid)

-- name: unfinished_of_day
-- Counts the executions of a day's table that have not ended.
SELECT count(*) FROM {table} WHERE status IN ('PENDING', 'QUEUED', 'RUNNING', 'RETRYING')

-- name: open_of_day
-- Counts executions of a day that may still change, and are not among its rows yet. Primary key.
SELECT count(*) FROM open_executions e WHERE e.id >= %(low)s AND e.id < %(high)s
