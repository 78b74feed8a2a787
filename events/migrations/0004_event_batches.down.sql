-- Each subject of a batch becomes an event of its own again, under a new id: consumers are stopped.
ALTER TABLE events DROP CONSTRAINT event_has_one_subject_or_a_batch;
INSERT INTO events (id, xid, tenant_id, name, subject_id, task_id, at)
SELECT uuidv7(e.at - now()), e.xid, e.tenant_id, e.name, s.subject_id, s.task_id, e.at
FROM events e CROSS JOIN LATERAL unnest(e.subjects, e.tasks) AS s (subject_id, task_id)
WHERE e.subjects IS NOT NULL;
DELETE FROM events WHERE subjects IS NOT NULL;
ALTER TABLE events
    DROP COLUMN subjects,
    DROP COLUMN tasks,
    ALTER COLUMN subject_id SET NOT NULL;
