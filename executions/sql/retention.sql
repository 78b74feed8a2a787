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

-- name: describe
-- Stores the plan for a table in its comment, where the next process finds it.
COMMENT ON TABLE {table} IS {text}

-- name: has_old_reader
-- Returns whether a transaction that began long ago uses the parent of a kind, as a dump does.
SELECT day_has_old_reader(%(kind)s::text, %(seconds)s::double precision)

-- name: take_marks_back
-- Takes the mark from days that are wholly in the ledger: a version of before, or a backup, was cut
-- off in the middle. With the owner's rights.
SELECT take_day_marks_back()

-- name: let_day_go
-- Takes a day out of its parent and puts its table aside, with the owner's rights; returns whether
-- there was one. It waits 50 ms for other sessions, and they for it; then it fails, and nothing has
-- changed. Ends a detachment that was cut off.
SELECT let_day_go(%(kind)s::text, %(day)s::date)

-- name: open_left_day
-- Lets this session read a table that was put aside.
SELECT open_left_day(%(kind)s::text, %(day)s::date, %(number)s::bigint)

-- name: drop_left_day
-- Drops a table that was put aside, with the owner's rights: this locks only the table itself.
SELECT drop_left_day(%(kind)s::text, %(day)s::date, %(number)s::bigint)

-- name: put_aside
-- Gives a table outside of the ledger another name.
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
