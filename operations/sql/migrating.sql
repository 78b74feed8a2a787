-- name: try_to_lock
-- Whether this session migrates; of all sessions one, until it ends or lets go. It does not wait: an
-- index that is built concurrently would wait for who waits.
SELECT pg_try_advisory_lock(hashtextextended('punctual migrate', 0))

-- name: let_go
-- The end of it.
SELECT pg_advisory_unlock(hashtextextended('punctual migrate', 0))

-- name: be_alone
-- Whoever else prepares a new installation waits until this transaction has ended.
SELECT pg_advisory_xact_lock(hashtextextended('punctual bootstrap', 0))
