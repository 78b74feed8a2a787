-- name: active
-- Returns the secrets of these tenants that sign now, sealed, the newest first. Index
-- signing_secrets_active_idx.
SELECT s.tenant_id, s.sealed FROM signing_secrets s
WHERE s.tenant_id = ANY(%(tenants)s::uuid[])
  AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
ORDER BY s.created_at DESC, s.id DESC
