-- name: try_to_lock
-- Returns whether this session may migrate: one session at a time, until it ends or unlocks. It
-- does not wait, because an index that is built concurrently would wait for the waiting session.
SELECT pg_try_advisory_lock(hashtextextended('punctual migrate', 0))

-- name: let_go
-- Ends the session's right to migrate.
SELECT pg_advisory_unlock(hashtextextended('punctual migrate', 0))

-- name: be_alone
-- Lets other processes that prepare a new installation wait until this transaction has ended.
SELECT pg_advisory_xact_lock(hashtextextended('punctual bootstrap', 0))
