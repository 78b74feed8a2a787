-- name: tenants
-- Returns the tenants with runs that steps ask for and that wait for a place, with the workflows of
-- these runs: jumps from workflow to workflow. A run keeps the key that an edit has taken from its
-- workflow. Index open_executions_run_waits_idx.
WITH RECURSIVE waiting AS (
    (SELECT e.task_id FROM open_executions e
     WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND e.held AND e.run_id IS NOT NULL
     ORDER BY e.task_id LIMIT 1)
    UNION ALL
    SELECT n.task_id FROM waiting w CROSS JOIN LATERAL (
        SELECT e.task_id FROM open_executions e
        WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND e.held AND e.run_id IS NOT NULL
          AND e.task_id > w.task_id
        ORDER BY e.task_id LIMIT 1
    ) AS n
)
SELECT t.tenant_id, array_agg(t.id) FROM waiting w JOIN tasks t ON t.id = w.task_id
WHERE t.status <> 'PAUSED' AND (t.limited OR t.concurrency_key IS NOT NULL OR EXISTS (
    SELECT FROM open_executions e
    WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND e.held AND e.run_id IS NOT NULL
      AND e.task_id = t.id AND e.key_place = 0))
GROUP BY t.tenant_id ORDER BY t.tenant_id

-- part: children
-- Runs that steps of a tenant's runs ask for and that wait: of each run, workflow and place the last
-- in line, and each that has a place itself; with what their workflows allow.
children AS MATERIALIZED (
    SELECT e.id, e.run_id, t.id AS task_id, e.gated, e.counted, e.concurrency_key AS key,
           coalesce(t.concurrency_max, 1) AS own,
           coalesce((t.schedule ->> 'max_concurrent')::integer,
                    CASE coalesce(t.schedule ->> 'overlap_policy', 'allow')
                    WHEN 'allow' THEN 2147483647 ELSE 1 END) AS most
    FROM unnest(%(tasks)s::uuid[]) AS w (id) JOIN tasks t ON t.id = w.id
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (f.run_id, f.gated, f.concurrency_key, CASE WHEN f.counted THEN f.id END)
               f.* FROM (
            SELECT e.id, e.run_id, e.gated, e.counted, e.concurrency_key, e.due_at
            FROM open_executions e
            WHERE e.pool = 'workflow' AND e.status = 'PENDING' AND e.held AND e.run_id IS NOT NULL
              AND e.task_id = t.id AND e.step IS NOT NULL AND (e.gated OR e.key_place = 0)
              AND e.due_at <= statement_timestamp()
            ORDER BY e.due_at LIMIT %(limit)s
        ) AS f
        ORDER BY f.run_id, f.gated, f.concurrency_key, CASE WHEN f.counted THEN f.id END,
                 f.due_at DESC, f.id DESC
    ) AS e
    WHERE t.tenant_id = %(tenant)s AND t.status <> 'PAUSED'
)

-- part: above
-- The runs above them.
above AS (
    SELECT c.id, r.execution_id, r.parent_run, r.phase FROM children c CROSS JOIN LATERAL (
        SELECT r.execution_id, r.parent_run, r.phase FROM workflow_runs r
        WHERE r.id = c.run_id OFFSET 0
    ) AS r
    UNION ALL
    SELECT a.id, r.execution_id, r.parent_run, r.phase FROM above a CROSS JOIN LATERAL (
        SELECT r.execution_id, r.parent_run, r.phase FROM workflow_runs r
        WHERE r.id = a.parent_run OFFSET 0
    ) AS r
)

-- part: ancestors
-- What those have, and whether one of them is being cancelled.
ancestors AS MATERIALIZED (
    SELECT a.id, array_agg(a.execution_id) AS above, bool_or(p.has_place) AS has_place,
           bool_or(a.phase = 'cancelling' OR p.is_cancelled) AS ends
    FROM above a LEFT JOIN LATERAL (
        SELECT p.counted OR coalesce(p.key_place > 0, false) AS has_place,
               p.cancel_requested_at IS NOT NULL AS is_cancelled
        FROM open_executions p WHERE p.id = a.execution_id OFFSET 0
    ) AS p ON true
    GROUP BY a.id
)

-- part: concerned
-- Those for which another run may wait.
concerned AS MATERIALIZED (
    SELECT c.*, n.above FROM children c JOIN ancestors n ON n.id = c.id
    WHERE n.ends IS NOT TRUE AND (c.counted OR n.has_place)
)

-- part: involved
-- Whose places count: theirs, and of the runs above them.
involved AS MATERIALIZED (
    SELECT unnest(c.above) AS id FROM concerned c UNION SELECT c.id FROM concerned c
)

-- part: line
-- The lines of their keys, and how many places may be taken when each gets one.
line AS (
    SELECT l.id, min(coalesce(t.concurrency_max, 1)) OVER (
        PARTITION BY k.key ORDER BY l.due_at, l.task_id, l.id) AS most
    FROM (SELECT DISTINCT c.key FROM concerned c WHERE NOT c.gated) AS k
    CROSS JOIN LATERAL (
        SELECT l.id, l.task_id, l.due_at FROM open_executions l
        WHERE l.key_place = 0 AND NOT l.gated AND l.tenant_id = %(tenant)s
          AND l.concurrency_key = k.key AND l.due_at <= statement_timestamp()
        ORDER BY l.due_at, l.task_id, l.id LIMIT %(limit)s
    ) AS l
    LEFT JOIN LATERAL (
        SELECT t.concurrency_max FROM tasks t WHERE t.id = l.task_id OFFSET 0
    ) AS t ON true
)

-- name: waits
-- Returns runs that steps of a tenant's runs ask for and that wait for a place, in one snapshot. Only
-- those that have a place themselves, or stand under a run that has one: no other run waits for them.
-- Of a run's that have none, the last in line counts for all of one workflow. Not those that the
-- cancel of a run above takes back. With each: the executions of the runs above it; how many places
-- may be taken when it, or work before it in line, gets one; and which of the places such runs have.
-- Up to a number of rows of each workflow and key are read. Indexes open_executions_run_waits_idx,
-- open_executions_key_waiting_idx, open_executions_key_taken_idx and open_executions_counted_idx.
WITH RECURSIVE -- parts: children, above, ancestors, concerned, involved, line
SELECT c.id, c.above,
       CASE WHEN c.gated THEN c.most ELSE coalesce(l.most, c.own) END,
       CASE WHEN c.gated THEN ARRAY(
           SELECT p.id FROM open_executions p
           WHERE p.counted AND p.task_id = c.task_id AND p.series_id IS NULL
             AND p.id IN (SELECT i.id FROM involved i))
       ELSE ARRAY(
           SELECT p.id FROM open_executions p
           WHERE p.key_place > 0 AND p.tenant_id = %(tenant)s AND p.concurrency_key = c.key
             AND p.id IN (SELECT i.id FROM involved i)) END
FROM concerned c LEFT JOIN line l ON l.id = c.id

-- name: lock
-- Locks a run that waits for a place, unless another session changes it in this moment. Primary key.
SELECT e.id FROM open_executions e
WHERE e.id = %(id)s AND e.status = 'PENDING' AND e.held AND (e.gated OR e.key_place = 0)
FOR UPDATE SKIP LOCKED
