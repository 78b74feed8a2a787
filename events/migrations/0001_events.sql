-- Partitioned by day on the id, which the database makes (version 7, so it sorts by time).
CREATE TABLE events (
    id uuid NOT NULL DEFAULT uuidv7() PRIMARY KEY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    tenant_id uuid NOT NULL,
    name varchar(40) NOT NULL,
    subject_id uuid NOT NULL,
    task_id uuid,
    data jsonb,
    at timestamptz NOT NULL DEFAULT now()
) PARTITION BY RANGE (id);
CREATE INDEX events_of_subject_idx ON events (subject_id, id);
CREATE INDEX events_cursor_idx ON events (xid, id);
