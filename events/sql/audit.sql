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
-- keeps many deleted ends. The code is computed here, so that the lock lasts no extra round trip: an
-- HMAC-SHA-256 by the entry's own key, given as its inner and outer block, or a hash without a key.
-- What entries are hashed from comes end to end, with where each ends: an array of values of many
-- lengths would be read from its beginning for each of them. Without an end an entry has no number,
-- and the table refuses it. Index audit_end_is_unique.
WITH RECURSIVE ended AS MATERIALIZED (
    SELECT id, sequence, hash FROM audit_chains WHERE tenant_id = %(tenant)s
    ORDER BY sequence DESC LIMIT 1
), linked (place, sequence, hash) AS (
    SELECT 0, sequence, hash FROM ended
    UNION ALL
    SELECT place + 1, sequence + 1, CASE %(outer)s::bytea
        WHEN '' THEN sha256(l.hash || c.content)
        ELSE sha256(substring(%(outer)s::bytea FROM 64 * place + 1 FOR 64)
            || sha256(substring(%(inner)s::bytea FROM 64 * place + 1 FOR 64) || l.hash || c.content))
        END
    FROM linked l
    CROSS JOIN LATERAL (SELECT
        substring(%(heads)s::bytea
                  FROM ((%(head_ends)s::bigint[])[place + 1] + 1)::integer
                  FOR ((%(head_ends)s::bigint[])[place + 2]
                       - (%(head_ends)s::bigint[])[place + 1])::integer)
        || convert_to((sequence + 1)::text, 'UTF8')
        || substring(%(tails)s::bytea
                     FROM ((%(tail_ends)s::bigint[])[place + 1] + 1)::integer
                     FOR ((%(tail_ends)s::bigint[])[place + 2]
                          - (%(tail_ends)s::bigint[])[place + 1])::integer) AS content) c
    WHERE place < cardinality(%(ids)s::uuid[])
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
    after, hash, key_id
)
SELECT e.id, %(tenant)s, l.sequence, e.at, e.actor, e.address, e.trace_id, e.action,
       e.object_kind, e.object_id, e.before, e.after, l.hash, e.key_id
FROM unnest(
    %(ids)s::uuid[], %(moments)s::timestamptz[], %(actors)s::text[], %(addresses)s::text[],
    %(trace_ids)s::text[], %(actions)s::text[], %(kinds)s::text[], %(objects)s::text[],
    %(befores)s::text[], %(afters)s::text[], %(key_ids)s::text[]
) WITH ORDINALITY AS e (id, at, actor, address, trace_id, action, object_kind, object_id, before,
                        after, key_id, place)
LEFT JOIN linked l ON l.place = e.place

-- name: ends
-- Returns the end of every chain, with its last entry's key, by tenant. Reads a few rows a tenant:
-- its begin, its end and, after crashes only, ends that were replaced. Index audit_end_is_unique.
SELECT DISTINCT ON (c.tenant_id) c.tenant_id, c.sequence, c.hash, e.key_id
FROM audit_chains c
LEFT JOIN audit_entries e ON e.tenant_id = c.tenant_id AND e.sequence = c.sequence
ORDER BY c.tenant_id, c.sequence DESC

-- name: codes_at
-- Returns the code of the entry at one number of each of some chains, where there is one. Index
-- audit_sequence_is_unique_in_a_tenant.
SELECT e.tenant_id, e.hash
FROM unnest(%(tenants)s::uuid[], %(numbers)s::bigint[]) AS k (tenant_id, sequence)
JOIN audit_entries e ON e.tenant_id = k.tenant_id AND e.sequence = k.sequence

-- name: guards
-- Returns the triggers that keep the log append-only and that are there and switched on.
SELECT t.tgname
FROM pg_trigger t
WHERE t.tgrelid IN ('audit_entries'::regclass, 'audit_chains'::regclass)
  AND t.tgenabled IN ('O', 'A') AND NOT t.tgisinternal

-- name: forget
-- Removes the begin of a chain up to a number, behind the checkpoint that states it, and returns how
-- many entries went: the trigger audit_entries_are_not_removed lets no other entry go. A function of
-- the owner's does it, because the processes may only append to the log. Index
-- audit_sequence_is_unique_in_a_tenant.
SELECT forget_audit_entries(%(tenant)s, %(last)s)
