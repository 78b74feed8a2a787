-- The priority itself in place of its band. Only what is unfinished is written anew: what has ended
-- keeps its band, and shows the priority that tasks have unless they say otherwise.
ALTER TABLE executions ADD COLUMN priority smallint NOT NULL DEFAULT 5;
ALTER TABLE executions ALTER COLUMN band DROP NOT NULL;
DROP INDEX open_executions_due_idx, open_executions_parked_idx, open_executions_pull_idx;
-- Within its band: a backfill's executions have a lower priority than their task.
UPDATE open_executions e
SET priority = least(greatest(t.priority, (ARRAY[0, 3, 7])[e.band + 1]), (ARRAY[2, 6, 9])[e.band + 1]),
    band = NULL
FROM tasks t WHERE t.id = e.task_id;
CREATE INDEX open_executions_due_idx ON open_executions (priority, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked;
CREATE INDEX open_executions_parked_idx ON open_executions (tenant_id, destination, priority, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND parked;
CREATE INDEX open_executions_pull_idx ON open_executions (tenant_id, pool, priority, due_at)
    WHERE status IN ('PENDING', 'RETRYING') AND NOT held AND NOT parked AND pool LIKE 'pull.%';
ANALYZE open_executions;
