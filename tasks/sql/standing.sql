-- name: share_pauses
-- A transaction that makes, changes or resumes tasks of a tenant holds this until it ends. The
-- race: both sides would miss a task that comes under a pause just as that pause begins. An
-- advisory lock, no index; transactions that share it do not wait for each other.
SELECT pg_advisory_xact_lock_shared(727302, hashtext(%(tenant)s::text))

-- name: own_pauses
-- A transaction that begins a pause or changes a calendar holds this until it ends. Waits for all
-- that share it.
SELECT pg_advisory_xact_lock(727302, hashtext(%(tenant)s::text))
