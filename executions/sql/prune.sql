-- name: existing_days
-- The day tables of a partitioned table.
SELECT c.relname FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_class p ON p.oid = i.inhparent
WHERE p.relname = %(parent)s ORDER BY c.relname

-- name: lock_days
-- One process at a time makes or drops day tables; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(727301)

-- name: create_day
-- Makes a day's table apart and attaches it: attaching locks the parent far less than creating
-- it in place would.
CREATE TABLE {table} (LIKE {parent} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)

-- name: bound_day
-- A check that proves the bounds, so that attaching does not scan.
ALTER TABLE {table} ADD CONSTRAINT {table_bounds} CHECK (id >= {low} AND id < {high})

-- name: attach_day
-- Attaches the day's table.
ALTER TABLE {parent} ATTACH PARTITION {table} FOR VALUES FROM ({low}) TO ({high})

-- name: unbound_day
-- The partition bounds say it now.
ALTER TABLE {table} DROP CONSTRAINT {table_bounds}

-- name: wait_briefly
-- Dropping a day locks its parent against everybody; whoever waits for that lock makes others
-- wait. Ends with the transaction.
SET LOCAL lock_timeout = '1s'

-- name: drop_day
-- Drops a day that is older than the retention and has nothing unfinished.
DROP TABLE {table}
