-- name: count
-- Adds to the counts of rules by minute. Rules that were deleted meanwhile get none; one that is
-- counted is deleted after this transaction. Index one_row_per_rule_and_minute.
INSERT INTO alert_rule_minutes AS m (rule_id, minute, ended, failed)
SELECT c.rule_id, c.minute, c.ended, c.failed
FROM unnest(%(rules)s::uuid[], %(minutes)s::timestamptz[], %(ended)s::bigint[],
            %(failed)s::bigint[]) AS c (rule_id, minute, ended, failed)
JOIN alert_rules r ON r.id = c.rule_id
ORDER BY c.rule_id, c.minute
FOR KEY SHARE OF r
ON CONFLICT (rule_id, minute) DO UPDATE
SET ended = m.ended + excluded.ended, failed = m.failed + excluded.failed

-- name: forget_minutes
-- Removes the minutes that ended before the begin of their rule's window. Index
-- one_row_per_rule_and_minute.
DELETE FROM alert_rule_minutes m
USING unnest(%(rules)s::uuid[], %(begins)s::timestamptz[]) AS w (rule_id, begins)
WHERE m.rule_id = w.rule_id AND m.minute < date_trunc('minute', w.begins, 'UTC')

-- name: sums
-- Returns how many executions ended and failed in the minutes since the begin of each rule's window,
-- the minute of the begin included. Index one_row_per_rule_and_minute.
SELECT m.rule_id, sum(m.ended)::bigint, sum(m.failed)::bigint
FROM unnest(%(rules)s::uuid[], %(begins)s::timestamptz[]) AS w (rule_id, begins)
JOIN alert_rule_minutes m
  ON m.rule_id = w.rule_id AND m.minute >= date_trunc('minute', w.begins, 'UTC')
GROUP BY m.rule_id

-- name: keep
-- Keeps rules that judge from being deleted or changed until the transaction ends, and returns them;
-- of those that are gone or switched off nothing. By primary key.
SELECT r.id FROM alert_rules r
WHERE r.id = ANY(%(rules)s::uuid[]) AND r.enabled
ORDER BY r.id FOR KEY SHARE

-- name: ended_streaks
-- Returns the open alerts of failures whose tasks have all succeeded since; that of failures in a
-- row ends with its task, too. Failures of replays into another place are no failures of the task.
-- Index one_open_alert_per_subject, then one_row_per_alert_and_task and the primary key of tasks,
-- until a task that still fails. (Keep the subqueries: a join may read all tasks.)
SELECT a.id
FROM alerts a
WHERE a.closed_at IS NULL AND a.recovered_at IS NULL
  AND (a.kind = 'failures_in_a_row' OR a.kind = 'final_failure' AND a.subject = '')
  AND (
      SELECT x.id FROM alert_tasks x
      WHERE x.alert_id = a.id AND coalesce(
          (SELECT t.failure_streak FROM tasks t
           WHERE t.id = x.task_id AND (a.kind = 'final_failure' OR t.deleted_at IS NULL)),
          (a.kind = 'final_failure')::integer) <> 0
      LIMIT 1) IS NULL
