-- name: begin_chain
-- A tenant's chain before its first entry; keeps the one that is there. Asks first: an INSERT
-- would wait for whoever holds the end of the chain. Primary key.
INSERT INTO audit_chains (tenant_id, sequence, hash)
SELECT %(tenant)s::uuid, 0, %(hash)s::bytea
WHERE NOT EXISTS (SELECT FROM audit_chains WHERE tenant_id = %(tenant)s::uuid)
ON CONFLICT (tenant_id) DO NOTHING

-- name: append
-- Appends entries behind the end of the tenant's chain, which has begun, and moves the end. The end
-- is locked until the transaction ends: two writers that read the same end would both follow it, and
-- fork the chain. Hashed here, so that it is locked for no question and answer more. An entry without
-- an end to follow has no number, which the table refuses. Primary key.
WITH RECURSIVE ended AS MATERIALIZED (
    SELECT sequence, hash FROM audit_chains WHERE tenant_id = %(tenant)s FOR NO KEY UPDATE
), linked (place, sequence, hash) AS (
    SELECT 0, sequence, hash FROM ended
    UNION ALL
    SELECT place + 1, sequence + 1, sha256(
        hash || convert_to(
            (%(heads)s::text[])[place + 1] || (sequence + 1)::text
            || (%(tails)s::text[])[place + 1],
            'UTF8'))
    FROM linked WHERE place < cardinality(%(ids)s::uuid[])
), moved AS (
    UPDATE audit_chains c SET sequence = l.sequence, hash = l.hash
    FROM linked l
    WHERE c.tenant_id = %(tenant)s AND l.place = cardinality(%(ids)s::uuid[])
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
