-- name: wake
-- Marks the active subscriptions for which a sender has something to do, and returns of each whether
-- its receiver failed before: an event lies after its place, a failed one is due again, or its place
-- has not moved for an hour and must not grow too old. One that was marked is not marked again for
-- half a minute. Index event_subscriptions_due_idx, and for each of them events_of_tenant_idx.
UPDATE event_subscriptions s SET woken_at = now()
WHERE s.id IN (
    SELECT d.id FROM event_subscriptions d JOIN tenants t ON t.id = d.tenant_id
    WHERE d.status = 'ACTIVE' AND d.next_attempt_at <= now() AND t.suspended_at IS NULL
      AND (d.woken_at IS NULL OR d.woken_at <= now() - interval '30 seconds')
      AND (d.claimed_until IS NULL OR d.claimed_until <= now())
      AND (d.failing_since IS NOT NULL OR d.taken > 0 OR d.read_at <= now() - interval '1 hour'
           OR (
               -- The first row after the place, with the tenant within the rows that are compared:
               -- no other index has this order, and no estimate makes another read look cheaper.
               SELECT e.id FROM events e
               WHERE (e.tenant_id, e.xid, e.id)
                     > (d.tenant_id, d.xid::text::xid8, d.event_id)
                 AND (e.tenant_id, e.xid)
                     < (d.tenant_id, pg_snapshot_xmin(pg_current_snapshot()))
                 -- No unread event is older; a day is longer than any transaction.
                 AND e.id >= (lpad(to_hex((extract(epoch FROM d.read_at - interval '1 day') * 1000)
                                          ::bigint), 12, '0') || repeat('0', 20))::uuid
               ORDER BY e.tenant_id, e.xid, e.id LIMIT 1) IS NOT NULL)
    FOR UPDATE OF d SKIP LOCKED)
RETURNING s.failing_since IS NOT NULL
