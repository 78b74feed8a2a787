-- name: existing_days
-- Returns the day tables of a partitioned table, without one that is being detached: rows no longer
-- go there.
SELECT c.relname FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_class p ON p.oid = i.inhparent
WHERE p.relname = %(parent)s AND NOT i.inhdetachpending ORDER BY c.relname

-- name: lock_days
-- Allows one process at a time to make or drop day tables; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(727301)

-- name: create_day
-- Makes a day's table apart, for attach_day: attaching locks the parent far less than creating it
-- in place would.
CREATE TABLE {table} (
    LIKE {parent} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES INCLUDING STORAGE)
    WITH (autovacuum_analyze_scale_factor = {share})

-- name: quiet_columns
-- Returns the columns whose statistics have an unusual depth in a partitioned table, and that
-- depth, which a table made like it does not take over.
SELECT attname, attstattarget FROM pg_attribute
WHERE attrelid = %(parent)s::regclass AND attnum > 0 AND NOT attisdropped
  AND attstattarget IS NOT NULL
ORDER BY attnum

-- name: quiet_day
-- Sets the same depth for the day's table.
ALTER TABLE {table} {depths}

-- name: bound_day
-- Adds a check that proves the bounds, so that attaching does not scan.
ALTER TABLE {table} ADD CONSTRAINT {table_bounds} CHECK (id >= {low} AND id < {high})

-- name: attach_day
-- Attaches the day's table.
ALTER TABLE {parent} ATTACH PARTITION {table} FOR VALUES FROM ({low}) TO ({high})

-- name: unbound_day
-- Drops the check: the partition bounds replace it.
ALTER TABLE {table} DROP CONSTRAINT {table_bounds}

-- name: drop_day
-- Drops a table that has left the ledger: this locks only the table itself.
DROP TABLE {table}
