-- name: keep
-- Keeps open windows from being ended until the transaction ends, and returns them; of those that a
-- session is ending nothing. By primary key.
SELECT w.id FROM maintenance_windows w
WHERE w.id = ANY(%(windows)s::uuid[])
ORDER BY w.id FOR KEY SHARE SKIP LOCKED
