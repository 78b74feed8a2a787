-- name: take_turn
-- Allows one process at a time to drop days, or to write and read back the archive; the lock ends
-- with the session. False while another process has it.
SELECT pg_try_advisory_lock(727302)

-- name: share_turn
-- Keeps every day in the ledger, for readers of the whole ledger, several at once. Waits for a
-- running round; ends with the session.
SELECT pg_advisory_lock_shared(727302)

-- name: give_turn_back
-- Ends the turn at once; a closed session would keep it for a moment longer.
SELECT pg_advisory_unlock_all()

-- name: be_patient
-- Sets how long the session waits for a lock and for a statement, in milliseconds; 0 is without
-- end.
SELECT set_config('lock_timeout', %(lock)s::text, false),
       set_config('statement_timeout', %(statement)s::text, false)

-- name: days_before
-- Returns the day tables before a day (YYYYMMDD), each with its parent and whether it is half
-- detached. Leaves out tables whose comment keeps them for a while, such as restored days. A table
-- that has begun to leave is returned for any day: the retention may be longer than it was.
SELECT p.relname::text, c.relname::text, i.inhdetachpending
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_class p ON p.oid = i.inhparent
WHERE p.relname = ANY(%(parents)s::text[]) AND pg_table_is_visible(p.oid)
  AND c.relname ~ '_[0-9]{8}$'
  AND (i.inhdetachpending AND obj_description(c.oid, 'pg_class') = %(mark)s
       OR right(c.relname::text, 8) < %(before)s AND coalesce(
           substring(obj_description(c.oid, 'pg_class')
                     FROM 'kept until ([0-9]{4}-[0-9]{2}-[0-9]{2})')::date < current_date, true))

-- name: marked_in_ledger
-- Returns days that are marked and wholly in the ledger: their detachment never began, or they are
-- restored from a backup that was made in the middle of it.
SELECT c.relname::text FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE NOT i.inhdetachpending AND c.relkind = 'r' AND pg_table_is_visible(c.oid)
  AND obj_description(c.oid, 'pg_class') = %(mark)s

-- name: has_old_reader
-- Returns whether a transaction that began long ago uses a table, as a dump does: a detachment
-- would only wait for it, half done.
SELECT EXISTS (
    SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'relation' AND l.granted AND l.relation = %(parent)s::regclass
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND a.pid <> pg_backend_pid()
      AND a.xact_start < clock_timestamp() - make_interval(secs => %(seconds)s))

-- name: describe
-- Stores the plan for a table in its comment, where the next process finds it.
COMMENT ON TABLE {table} IS {text}

-- name: detach_day
-- Takes a day out of its parent. It waits for the sessions that use the parent, and no session
-- waits for it. Run it outside of any transaction; finish_detaching ends one that was cut off in
-- the middle.
ALTER TABLE {parent} DETACH PARTITION {table} CONCURRENTLY

-- name: finish_detaching
-- Ends a detachment that was cut off.
ALTER TABLE {parent} DETACH PARTITION {table} FINALIZE

-- name: in_the_way
-- Returns a table of this name that leaves the ledger: its number, and its parent where it is only
-- half detached.
SELECT c.oid::bigint, p.relname::text
FROM pg_class c
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
LEFT JOIN pg_class p ON p.oid = i.inhparent
WHERE c.relname = %(table)s AND c.relkind = 'r' AND pg_table_is_visible(c.oid)
  AND obj_description(c.oid, 'pg_class') = %(mark)s
  AND (i.inhrelid IS NULL OR i.inhdetachpending)

-- name: put_aside
-- Gives a detached table a name that no day will have.
ALTER TABLE {table} RENAME TO {aside}

-- name: detached
-- Returns the tables that have left their parent under the name of their day.
SELECT c.relname::text FROM pg_class c
WHERE c.relname ~ '^(executions|attempts|events|runs|steps)_[0-9]{8}$' AND c.relkind = 'r'
  AND NOT c.relispartition AND pg_table_is_visible(c.oid)
  AND obj_description(c.oid, 'pg_class') = %(mark)s
ORDER BY c.relname

-- name: leaving
-- Returns the tables that have left their parent and were put aside, of any day.
SELECT c.relname::text FROM pg_class c
WHERE c.relname ~ '^(executions|attempts|events|runs|steps)_[0-9]{8}_leaving_[0-9]+$' AND c.relkind = 'r'
  AND NOT c.relispartition AND pg_table_is_visible(c.oid)
ORDER BY c.relname
