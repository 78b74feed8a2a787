-- name: append
-- Appends events in the caller's transaction, in the order given. Writes nothing while today's
-- table is missing: a person's change must not fail because its event cannot be stored. All ids
-- count up from one random id, because PostgreSQL may read a device for each random value.
INSERT INTO events (id, tenant_id, name, subject_id, task_id, data)
SELECT ((SELECT left(uuidv7()::text, 28))
        || encode(int4send(row_number() OVER ()::integer), 'hex'))::uuid,
       %(tenant)s, %(name)s, e.subject_id, e.task_id, %(data)s::jsonb
FROM unnest(%(subjects)s::uuid[], %(tasks)s::uuid[]) AS e (subject_id, task_id)
WHERE to_regclass('events_' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD'))
      IS NOT NULL

-- name: append_each
-- Appends events as append does, each with a tenant, a name and data of its own.
INSERT INTO events (id, tenant_id, name, subject_id, task_id, data)
SELECT ((SELECT left(uuidv7()::text, 28))
        || encode(int4send(row_number() OVER ()::integer), 'hex'))::uuid,
       e.tenant_id, e.name, e.subject_id, e.task_id, e.data
FROM unnest(%(tenants)s::uuid[], %(names)s::text[], %(subjects)s::uuid[], %(tasks)s::uuid[],
            %(data)s::jsonb[]) AS e (tenant_id, name, subject_id, task_id, data)
WHERE to_regclass('events_' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD'))
      IS NOT NULL

-- name: begin
-- Starts a new consumer at the oldest transaction that still runs. Keeps an existing cursor.
INSERT INTO event_cursors (consumer, xid, event_id, read_at)
VALUES (%(consumer)s, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
        '00000000-0000-0000-0000-000000000000', now())
ON CONFLICT (consumer) DO NOTHING

-- name: place
-- Returns a consumer's cursor without a lock, the current transaction bounds and the time.
SELECT xid, event_id, read_at, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint, now()
FROM event_cursors WHERE consumer = %(consumer)s

-- name: lock_place
-- Returns the same and locks the cursor; returns no row while another process reads as this
-- consumer.
SELECT xid, event_id, read_at, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint, now()
FROM event_cursors WHERE consumer = %(consumer)s
FOR UPDATE SKIP LOCKED

-- name: has_news
-- Returns whether an event lies between a consumer's place and the oldest running transaction.
-- Index events_cursor_idx of the few days that the ids allow.
SELECT EXISTS (
    SELECT 1 FROM events e
    WHERE (e.xid, e.id) > (%(xid)s::text::xid8, %(event)s) AND e.xid < %(horizon)s::text::xid8
      AND e.id >= %(low)s AND e.id < %(high)s)

-- name: read
-- Returns the events between a place and the oldest running transaction. No event can be added
-- below that transaction; a plain cursor over ids would skip events that commit late. Index
-- events_cursor_idx of the few days that the ids allow. The limit counts rows and cuts no batch.
SELECT e.id, e.tenant_id, e.name, e.subject_id, e.task_id, e.subjects, e.tasks, e.data, e.at,
       e.xid::text::bigint
FROM events e
WHERE (e.xid, e.id) > (%(xid)s::text::xid8, %(event)s) AND e.xid < %(horizon)s::text::xid8
  AND e.id >= %(low)s AND e.id < %(high)s
ORDER BY e.xid, e.id LIMIT %(limit)s

-- name: read_named
-- Reads the same rows, but returns only events with one of the names, with the last row's place and
-- the number of all rows. Returns one row without an event when no event has such a name. Events of
-- some more names are returned for some tenants only.
WITH batch AS MATERIALIZED (
    SELECT e.xid, e.id, e.tenant_id, e.name, e.subject_id, e.task_id, e.data, e.at, w.wanted,
           -- Leave out the arrays of other events.
           CASE WHEN w.wanted THEN e.subjects END AS subjects,
           CASE WHEN w.wanted THEN e.tasks END AS tasks
    FROM events e
    CROSS JOIN LATERAL (
        SELECT e.name = ANY(%(names)s)
            OR e.name = ANY(%(some_names)s) AND e.tenant_id = ANY(%(tenants)s::uuid[]) AS wanted
    ) AS w
    WHERE (e.xid, e.id) > (%(xid)s::text::xid8, %(event)s) AND e.xid < %(horizon)s::text::xid8
      AND e.id >= %(low)s AND e.id < %(high)s
    ORDER BY e.xid, e.id LIMIT %(limit)s
), last AS (
    SELECT id, xid, (SELECT count(*) FROM batch) AS total
    FROM batch ORDER BY xid DESC, id DESC LIMIT 1
)
SELECT last.id, b.id, b.tenant_id, b.name, b.subject_id, b.task_id, b.subjects, b.tasks, b.data,
       b.at, last.total, last.xid::text::bigint
FROM last LEFT JOIN batch b ON b.wanted
ORDER BY b.xid, b.id

-- name: tally
-- Returns the same rows as counts per tenant and name, where a batch is one row, with the last
-- event's place and the number of all rows. For consumers that need no single event.
WITH batch AS MATERIALIZED (
    SELECT e.xid, e.id, e.tenant_id, e.name FROM events e
    WHERE (e.xid, e.id) > (%(xid)s::text::xid8, %(event)s) AND e.xid < %(horizon)s::text::xid8
      AND e.id >= %(low)s AND e.id < %(high)s
    ORDER BY e.xid, e.id LIMIT %(limit)s
), last AS (
    SELECT id, xid, (SELECT count(*) FROM batch) AS total
    FROM batch ORDER BY xid DESC, id DESC LIMIT 1
)
SELECT last.id, b.tenant_id, b.name, count(*), last.total, last.xid::text::bigint
FROM batch b CROSS JOIN last
GROUP BY b.tenant_id, b.name, last.id, last.total, last.xid

-- name: advance
-- Moves a consumer, which holds the lock of its cursor, past the events that it has handled.
UPDATE event_cursors SET xid = %(xid)s, event_id = %(event)s, read_at = %(read_at)s
WHERE consumer = %(consumer)s
