-- name: own_creations
-- Keeps transactions that store tasks of a tenant apart from a change of its limits: each of them
-- shares this lock (standing/share_pauses), and returns the limits in force once it has it. Waits
-- for those under way; ends with the transaction. An advisory lock, no index.
SELECT pg_advisory_xact_lock(727302, hashtext(%(tenant)s::text))
