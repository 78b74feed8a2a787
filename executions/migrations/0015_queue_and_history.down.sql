ALTER TABLE executions DETACH PARTITION open_executions;
ALTER TABLE executions DETACH PARTITION ended_executions;
DROP TABLE executions;
ALTER TABLE ended_executions RENAME TO executions;
ALTER TABLE executions RENAME CONSTRAINT ended_executions_pkey TO executions_pkey;
DROP INDEX executions_late_ends_idx;

-- Then it goes back.
DROP TABLE open_executions;
CREATE INDEX executions_due_idx ON executions (band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked;
CREATE INDEX executions_parked_idx ON executions (tenant_id, destination, band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND parked;
CREATE INDEX executions_pull_idx ON executions (tenant_id, pool, band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked AND pool LIKE 'pull.%';
CREATE INDEX executions_held_idx ON executions (id)
    WHERE status IN ('PENDING', 'RETRYING') AND held;
CREATE INDEX executions_leased_idx ON executions (lease_expires_at)
    WHERE status IN ('QUEUED', 'RUNNING');
CREATE INDEX executions_gated_idx ON executions (task_id, series_id, due_at)
    WHERE status = 'PENDING' AND gated;
CREATE INDEX executions_counted_idx ON executions (task_id, series_id)
    WHERE status IN ('PENDING', 'QUEUED', 'RUNNING', 'RETRYING') AND counted;
