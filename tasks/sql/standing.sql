-- name: share_pauses
-- Held by whoever makes, changes or resumes tasks of a tenant, until the transaction ends. The
-- race: a task that comes under a pause just as that pause begins would be missed by both. A
-- lock of the session's book, no index; others who share it do not wait.
SELECT pg_advisory_xact_lock_shared(727302, hashtext(%(tenant)s::text))

-- name: own_pauses
-- Held by whoever begins a pause, until the transaction ends; waits for all who share it.
SELECT pg_advisory_xact_lock(727302, hashtext(%(tenant)s::text))
