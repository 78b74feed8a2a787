-- name: snapshot
-- Exports the snapshot of this transaction, for the dump and the counts alike.
SELECT pg_export_snapshot()

-- name: facts
-- The moment, the server and the last fencing token of a backup. One row.
SELECT clock_timestamp(), current_setting('server_version'),
       current_setting('server_version_num')::int, (SELECT last_value FROM execution_token_seq)

-- name: migrations
-- The migrations that have been applied. A few dozen rows.
SELECT app, name FROM django_migrations ORDER BY app, name

-- name: tables
-- The tables of the product; a partitioned table once, because it is counted as one.
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname

-- name: half_detached
-- Days whose detachment is under way or was interrupted, with the tables that they leave. A count
-- of the table leaves them out; a dump attaches them again.
SELECT coalesce(pg_partition_root(p.oid), p.oid)::regclass::text, c.relname FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_class p ON p.oid = i.inhparent
JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE i.inhdetachpending AND n.nspname = 'public'
ORDER BY c.relname

-- name: count_rows
-- The rows of one table; reads it from end to end, as the dump does.
SELECT count(*) FROM {table}

-- name: others
-- Our processes that are connected to this database, besides this one. Every role sees the names of
-- all sessions.
SELECT application_name FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND application_name LIKE 'punctual-%%'
ORDER BY application_name

-- name: drop_all
-- Empties a database that is to be overwritten; in the caller's transaction.
DROP SCHEMA public CASCADE

-- name: create_public
-- Makes an empty schema for the restored data.
CREATE SCHEMA public

-- name: forget_sessions
-- Ends all sessions: after a restore, everyone has to sign in again.
DELETE FROM django_session

-- name: void_login_links
-- A one-time link is bound to the last sign-in of its account: links from before the restore, used
-- or not, are void after it.
UPDATE auth_user SET last_login = statement_timestamp()

-- name: has_data_keys
-- Returns whether the database is of a version that has data keys of tenants.
SELECT to_regclass('public.data_keys') IS NOT NULL

-- name: destroy_data_keys
-- Destroys the data keys of erased tenants: what they have sealed never opens again. A few rows.
DELETE FROM data_keys WHERE tenant_id = ANY(%(tenants)s) RETURNING tenant_id
