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
-- The stored answer of a key, if there is one. Unique by tenant and key.
SELECT fingerprint, status, sealed_body, headers, expires_at FROM idempotency_records
WHERE tenant_id = %(tenant)s AND key = %(key)s

-- name: known
-- Which of the keys have a stored answer. Unique by tenant and key.
SELECT key FROM idempotency_records
WHERE tenant_id = %(tenant)s AND key = ANY(%(keys)s::text[])

-- name: try_to_hold
-- Whether this transaction holds each of the keys from now on, until it ends; it does not wait.
SELECT pg_try_advisory_xact_lock(k.lock)
FROM unnest(%(locks)s::bigint[]) WITH ORDINALITY AS k (lock, place) ORDER BY k.place

-- name: try_to_hold_in_session
-- Whether the session holds a key from now on, until it lets go or ends.
SELECT pg_try_advisory_lock(%(lock)s::bigint)

-- name: let_go
-- The end of what the session holds.
SELECT pg_advisory_unlock(%(lock)s::bigint)
