-- name: lock_chain
-- Locks the tenant's chain until the transaction ends: two writers that read the same end would
-- both follow it, and fork the chain. A statement of its own, before the one that reads the end.
SELECT pg_advisory_xact_lock(hashtextextended(%(tenant)s::uuid::text, 727303))

-- name: begin_chain
-- Makes a tenant's chain before its first entry; keeps an existing one. Index audit_end_is_unique.
INSERT INTO audit_chains (tenant_id, sequence, hash)
SELECT %(tenant)s::uuid, 0, %(hash)s::bytea
WHERE NOT EXISTS (
    SELECT FROM audit_chains WHERE tenant_id = %(tenant)s::uuid AND sequence = 0)
ON CONFLICT (tenant_id, sequence) DO NOTHING

-- name: append
-- Appends entries after the end of the tenant's chain, which lock_chain has locked, and replaces
-- the end by a new row. The descending read finds the newest end first, even if an open transaction
-- keeps many deleted ends. The hash is computed here, so that the lock lasts no extra round trip.
-- Without an end an entry has no number, and the table refuses it. Index audit_end_is_unique.
WITH RECURSIVE ended AS MATERIALIZED (
    SELECT id, sequence, hash FROM audit_chains WHERE tenant_id = %(tenant)s
    ORDER BY sequence DESC LIMIT 1
), linked (place, sequence, hash) AS (
    SELECT 0, sequence, hash FROM ended
    UNION ALL
    SELECT place + 1, sequence + 1, sha256(
        hash || convert_to(
            (%(heads)s::text[])[place + 1] || (sequence + 1)::text
            || (%(tails)s::text[])[place + 1],
            'UTF8'))
    FROM linked WHERE place < cardinality(%(ids)s::uuid[])
), ends AS (
    INSERT INTO audit_chains (tenant_id, sequence, hash)
    SELECT %(tenant)s, l.sequence, l.hash FROM linked l
    WHERE l.place = cardinality(%(ids)s::uuid[])
), passed AS (
    DELETE FROM audit_chains c
    WHERE c.id = (SELECT e.id FROM ended e WHERE e.sequence > 0)
)
INSERT INTO audit_entries (
    id, tenant_id, sequence, at, actor, address, trace_id, action, object_kind, object_id, before,
    after, hash
)
SELECT e.id, %(tenant)s, l.sequence, e.at, e.actor, e.address, e.trace_id, e.action,
       e.object_kind, e.object_id, e.before, e.after, l.hash
FROM unnest(
    %(ids)s::uuid[], %(moments)s::timestamptz[], %(actors)s::text[], %(addresses)s::text[],
    %(trace_ids)s::text[], %(actions)s::text[], %(kinds)s::text[], %(objects)s::text[],
    %(befores)s::text[], %(afters)s::text[]
) WITH ORDINALITY AS e (id, at, actor, address, trace_id, action, object_kind, object_id, before,
                        after, place)
LEFT JOIN linked l ON l.place = e.place
