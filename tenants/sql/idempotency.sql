-- name: store
-- Keeps the answer to a finished call, in the transaction of its change. Unique by tenant and key.
INSERT INTO idempotency_records (
    tenant_id, key, fingerprint, status, sealed_body, headers, created_at, expires_at
)
VALUES (
    %(tenant)s, %(key)s, %(fingerprint)s, %(status)s, %(sealed)s, %(headers)s::jsonb, now(),
    %(expires_at)s
)

-- name: find
-- The stored answer of a key, if there is one. Unique by tenant and key.
SELECT fingerprint, status, sealed_body, headers, expires_at FROM idempotency_records
WHERE tenant_id = %(tenant)s AND key = %(key)s

-- name: try_to_hold
-- Whether this transaction holds the key from now on, until it ends; it does not wait.
SELECT pg_try_advisory_xact_lock(%(lock)s::bigint)

-- name: try_to_hold_in_session
-- The same for the session, until it lets go or ends.
SELECT pg_try_advisory_lock(%(lock)s::bigint)

-- name: let_go
-- The end of what the session holds.
SELECT pg_advisory_unlock(%(lock)s::bigint)
