-- name: share_pauses
-- A transaction that makes, changes or resumes tasks of a tenant holds this until it ends. The
-- race: both sides would miss a task that comes under a pause just as that pause begins. An
-- advisory lock, no index; transactions that share it do not wait for each other.
SELECT pg_advisory_xact_lock_shared(727302, hashtext(%(tenant)s::text))

-- name: share_pauses_from_now
-- Holds the same, and returns the database's time once it does: a caller that had to wait for
-- the lock must not work with a time from before it. The inner query is never drawn into the outer one, because its
-- function is volatile.
SELECT clock_timestamp() FROM (
    SELECT pg_advisory_xact_lock_shared(727302, hashtext(%(tenant)s::text)) AS held
) AS s

-- name: own_pauses
-- A transaction that begins a pause or changes a calendar holds this until it ends. Waits for all
-- that share it.
SELECT pg_advisory_xact_lock(727302, hashtext(%(tenant)s::text))
