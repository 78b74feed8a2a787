DROP INDEX open_executions_due_idx, open_executions_parked_idx, open_executions_pull_idx;
UPDATE executions
SET band = CASE WHEN priority <= 2 THEN 0 WHEN priority <= 6 THEN 1 ELSE 2 END
WHERE band IS NULL;
ALTER TABLE executions ALTER COLUMN band SET NOT NULL;
ALTER TABLE executions DROP COLUMN priority;
CREATE INDEX open_executions_due_idx ON open_executions (band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked;
CREATE INDEX open_executions_parked_idx ON open_executions (tenant_id, destination, band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND parked;
CREATE INDEX open_executions_pull_idx ON open_executions (tenant_id, pool, band, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked AND pool LIKE 'pull.%';
ANALYZE open_executions;
