-- The days of executions become the history.
ALTER TABLE executions RENAME TO ended_executions;
ALTER TABLE ended_executions RENAME CONSTRAINT executions_pkey TO ended_executions_pkey;

-- All that is unfinished. Rows come and go: cleaned by their number, not by their share. Statistics
-- say little of what waits in a moment, and no plan needs them.
CREATE TABLE open_executions (LIKE ended_executions INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
    WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
          autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 200000);
WITH found AS (
    DELETE FROM ended_executions WHERE status IN ('PENDING', 'QUEUED', 'RETRYING', 'RUNNING') RETURNING *
)
INSERT INTO open_executions SELECT * FROM found;
ALTER TABLE open_executions ADD PRIMARY KEY (id);
CREATE INDEX open_executions_due_idx ON open_executions (band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked;
CREATE INDEX open_executions_parked_idx ON open_executions (tenant_id, destination, band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND parked;
CREATE INDEX open_executions_pull_idx ON open_executions (tenant_id, pool, band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked AND pool LIKE 'pull.%';
CREATE INDEX open_executions_held_idx ON open_executions (id)
    WHERE status IN ('PENDING', 'RETRYING') AND held;
CREATE INDEX open_executions_leased_idx ON open_executions (lease_expires_at)
    WHERE status IN ('QUEUED', 'RUNNING');
CREATE INDEX open_executions_gated_idx ON open_executions (task_id, series_id, due_at)
    WHERE status = 'PENDING' AND gated;
CREATE INDEX open_executions_counted_idx ON open_executions (task_id, series_id) WHERE counted;
CREATE INDEX open_executions_of_series_idx ON open_executions (series_id, status)
    WHERE series_id IS NOT NULL;
CREATE INDEX open_executions_with_error_idx ON open_executions (tenant_id, id DESC)
    WHERE error_code <> '';
CREATE INDEX open_executions_of_task_idx ON open_executions (task_id, id DESC);
CREATE INDEX open_executions_of_tenant_idx ON open_executions (tenant_id, id DESC);
ANALYZE open_executions;

-- The history keeps what lists need.
DROP INDEX executions_due_idx, executions_parked_idx, executions_pull_idx, executions_held_idx,
    executions_leased_idx, executions_gated_idx, executions_counted_idx;
-- What ended long after its time, which is rare: lists of what ended lately look no further back.
CREATE INDEX executions_late_ends_idx ON ended_executions (finished_at)
    WHERE finished_at - scheduled_for > interval '1 hour';

-- Then the days are proven.
CREATE TABLE executions (LIKE ended_executions INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
    PARTITION BY LIST (status);
ALTER TABLE executions ATTACH PARTITION open_executions
    FOR VALUES IN ('PENDING', 'QUEUED', 'RETRYING', 'RUNNING');
ALTER TABLE executions ATTACH PARTITION ended_executions
    FOR VALUES IN ('CANCELLED', 'FAILED', 'SKIPPED', 'SUCCEEDED');
