-- name: use
-- Writes which tasks use which secrets of a tenant, and returns the names that no secret has. A
-- removal of a secret waits for the lock, so that it finds the use. Index named_secret_is_unique.
WITH wanted AS (
    SELECT u.task_id, u.name FROM unnest(%(tasks)s::uuid[], %(names)s::text[]) AS u (task_id, name)
), found AS (
    SELECT s.id, s.name FROM named_secrets s
    WHERE s.tenant_id = %(tenant)s AND s.name IN (SELECT w.name FROM wanted w)
    ORDER BY s.id FOR KEY SHARE
), written AS (
    INSERT INTO secret_uses (task_id, secret_id)
    SELECT w.task_id, f.id FROM wanted w JOIN found f ON f.name = w.name
    ON CONFLICT DO NOTHING
)
SELECT DISTINCT w.name FROM wanted w
WHERE NOT EXISTS (SELECT FROM found f WHERE f.name = w.name)
ORDER BY w.name

-- name: users
-- Returns tasks that use each secret, the newest first: not the deleted ones, and not those that
-- have ended and start nothing any more. Index of the foreign key, then primary keys.
SELECT s.id, t.id, t.name, t.pool = 'workflow'
FROM unnest(%(secrets)s::uuid[]) AS s (id)
CROSS JOIN LATERAL (
    SELECT k.id, k.name, k.pool FROM secret_uses u JOIN tasks k ON k.id = u.task_id
    WHERE u.secret_id = s.id AND k.deleted_at IS NULL
      AND k.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
    ORDER BY k.created_at DESC, k.id DESC LIMIT %(limit)s
) AS t

-- name: count_users
-- Counts the tasks that use each secret, by the rule of ``users``.
SELECT u.secret_id, count(*)
FROM secret_uses u JOIN tasks k ON k.id = u.task_id
WHERE u.secret_id = ANY(%(secrets)s::uuid[]) AND k.deleted_at IS NULL
  AND k.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
GROUP BY u.secret_id

-- name: forget_ended
-- Removes uses of one-time tasks that have ended or were deleted, some at a time: a secret of many
-- such tasks would be slow to count. Reads the table once; it has no rows of tasks without secrets.
DELETE FROM secret_uses WHERE id = ANY(ARRAY(
    SELECT u.id FROM secret_uses u JOIN tasks k ON k.id = u.task_id
    WHERE k.type = 'ONE_TIME'
      AND (k.deleted_at IS NOT NULL OR k.status IN ('COMPLETED', 'FAILED', 'CANCELLED'))
    LIMIT %(limit)s
))
