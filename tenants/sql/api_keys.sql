-- name: find
-- Returns a key by its hash, with the fields of its tenant that the edge needs. Runs with every
-- call of the API. Unique.
SELECT k.id, k.prefix, k.key_hash, k.scopes, k.owner, k.sees_payloads, k.expires_at, k.addresses,
       k.last_used_at, k.revoked_at,
       t.id, t.name, t.unlimited, t.idempotency_required, t.idempotency_seconds, t.suspended_at,
       t.tier, t.quotas
FROM api_keys k JOIN tenants t ON t.id = k.tenant_id
WHERE k.key_hash = %(hash)s
