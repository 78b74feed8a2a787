-- name: lock_chain
-- The end of a tenant's chain, locked until the transaction ends: two writers that read the same
-- end would both follow it, and fork the chain. Primary key.
SELECT sequence, hash FROM audit_chains WHERE tenant_id = %(tenant)s FOR NO KEY UPDATE

-- name: begin_chain
-- A tenant's chain before its first entry; keeps the one that is there.
INSERT INTO audit_chains (tenant_id, sequence, hash) VALUES (%(tenant)s, 0, %(hash)s)
ON CONFLICT (tenant_id) DO NOTHING

-- name: append
-- Appends entries behind the end of the locked chain and moves the end.
WITH ended AS (
    UPDATE audit_chains SET sequence = %(sequence)s, hash = %(hash)s
    WHERE tenant_id = %(tenant)s
)
INSERT INTO audit_entries (
    id, tenant_id, sequence, at, actor, address, trace_id, action, object_kind, object_id, before,
    after, hash
)
SELECT e.id, %(tenant)s, e.sequence, e.at, %(actor)s, %(address)s, %(trace_id)s, e.action,
       e.object_kind, e.object_id, e.before, e.after, e.hash
FROM unnest(
    %(ids)s::uuid[], %(sequences)s::bigint[], %(moments)s::timestamptz[], %(actions)s::text[],
    %(kinds)s::text[], %(objects)s::text[], %(befores)s::text[], %(afters)s::text[],
    %(hashes)s::bytea[]
) AS e (id, sequence, at, action, object_kind, object_id, before, after, hash)
