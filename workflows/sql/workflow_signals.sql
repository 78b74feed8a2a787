-- name: own_names
-- Lets signals, and steps that begin to wait for one, of these names look for each other one at a
-- time: both would miss each other. In one order; the locks end with the transaction.
SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(concat_ws(' ', 'signal', n.tenant_id::text, n.name,
                                               n.correlation), 0) AS key
    FROM unnest(%(tenants)s::uuid[], %(names)s::text[], %(correlations)s::text[])
        AS n (tenant_id, name, correlation)
    ORDER BY key
) AS keys

-- name: insert
-- Keeps a signal for steps that will wait for it.
INSERT INTO workflow_signals (id, tenant_id, name, correlation, sealed_payload)
VALUES (%(id)s, %(tenant)s, %(name)s, %(correlation)s, %(sealed)s)

-- name: tell_waiting
-- Tells the runs of all steps that wait for a signal; returns the runs. Index
-- workflow_waits_named_idx.
INSERT INTO workflow_inbox (run_id, kind, step, item, take, execution_id)
SELECT w.run_id, 'signal', w.step, w.item, w.take, %(id)s FROM workflow_waits w
WHERE w.kind = 'event' AND w.tenant_id = %(tenant)s AND w.name = %(name)s
  AND w.correlation = %(correlation)s
ORDER BY w.run_id, w.step
RETURNING run_id

-- name: tell_earlier
-- Tells runs whose steps begin to wait of a signal that came before: since the run began, or since
-- as many seconds as the step accepts, and no other step of the run has had it. The oldest first.
-- Index workflow_signals_named_idx.
INSERT INTO workflow_inbox (run_id, kind, step, item, take, execution_id)
SELECT w.run_id, 'signal', w.step, -1, w.take, s.id
FROM unnest(
    %(runs)s::uuid[], %(steps)s::smallint[], %(takes)s::smallint[], %(tenants)s::uuid[],
    %(names)s::text[], %(correlations)s::text[], %(since)s::timestamptz[], %(earlier)s::float8[]
) AS w (run_id, step, take, tenant_id, name, correlation, since, earlier)
CROSS JOIN LATERAL (
    SELECT s.id FROM workflow_signals s
    WHERE s.tenant_id = w.tenant_id AND s.name = w.name AND s.correlation = w.correlation
      AND s.at >= least(w.since, clock_timestamp() - w.earlier * interval '1 second')
      AND NOT EXISTS (SELECT FROM workflow_steps e
                      WHERE e.run_id = w.run_id AND e.execution_id = s.id)
    ORDER BY s.at LIMIT 1
) AS s
RETURNING run_id

-- name: read
-- Returns what signals brought. Primary key.
SELECT s.id, s.tenant_id, s.sealed_payload FROM workflow_signals s WHERE s.id = ANY(%(ids)s)

-- name: forget
-- Deletes signals older than a day.
DELETE FROM workflow_signals s WHERE s.at < clock_timestamp() - interval '1 day'
