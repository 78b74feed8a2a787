-- name: store
-- Keeps the answers to finished calls of a tenant, in the transaction of their changes. Unique by
-- tenant and key.
INSERT INTO idempotency_records (
    tenant_id, key, fingerprint, status, sealed_body, headers, created_at, expires_at
)
SELECT %(tenant)s, a.key, a.fingerprint, a.status, a.sealed, a.headers::jsonb, now(), a.expires_at
FROM unnest(
    %(keys)s::text[], %(fingerprints)s::bytea[], %(statuses)s::smallint[], %(sealed)s::bytea[],
    %(headers)s::text[], %(expires_at)s::timestamptz[]
) AS a (key, fingerprint, status, sealed, headers, expires_at)

-- name: find
-- Returns the stored answer of a key, if there is one. Unique by tenant and key.
SELECT fingerprint, status, sealed_body, headers, expires_at FROM idempotency_records
WHERE tenant_id = %(tenant)s AND key = %(key)s

-- name: known
-- Returns the keys that have a stored answer. Unique by tenant and key.
SELECT key FROM idempotency_records
WHERE tenant_id = %(tenant)s AND key = ANY(%(keys)s::text[])

-- name: try_to_hold
-- Returns for each key whether this transaction locks it until it ends. Does not wait.
SELECT pg_try_advisory_xact_lock(k.lock)
FROM unnest(%(locks)s::bigint[]) WITH ORDINALITY AS k (lock, place) ORDER BY k.place

-- name: try_to_hold_in_session
-- Returns whether the session locks a key until it releases the lock or ends. Does not wait.
SELECT pg_try_advisory_lock(%(lock)s::bigint)

-- name: let_go
-- Releases the session's lock of a key.
SELECT pg_advisory_unlock(%(lock)s::bigint)
