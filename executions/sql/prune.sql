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

-- name: make_day
-- Makes the table of a kind's day unless it is there, with the owner's rights (migration 0031);
-- returns whether it did.
SELECT make_day(%(kind)s::text, %(day)s::date)

-- name: new_day_table
-- Makes a table like those of a kind under another name, to be filled and attached later.
SELECT new_day_table(%(kind)s::text, %(day)s::date, %(called)s::text)

-- name: attach_day_table
-- Attaches the table that has the name of a day.
SELECT attach_day_table(%(kind)s::text, %(day)s::date)

-- name: keep_day
-- Spares the table of a day from the retention until after a date, with the owner's rights.
SELECT keep_day(%(kind)s::text, %(day)s::date, %(until)s::date)

-- name: drop_day
-- Drops a table that is not in the ledger: this locks only the table itself.
DROP TABLE {table}
