-- name: store
-- Keeps the answer to a finished call, in the transaction of its change. Unique by tenant and key.
INSERT INTO idempotency_records (
    tenant_id, key, fingerprint, status, sealed_body, headers, created_at, expires_at
)
VALUES (
    %(tenant)s, %(key)s, %(fingerprint)s, %(status)s, %(sealed)s, %(headers)s::jsonb, now(),
    %(expires_at)s
)
