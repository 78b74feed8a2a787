-- name: paths
-- Returns the masked paths of these versions, of the current version of their tasks, and, where one
-- is the definition of a workflow's step (from 1610612736 on, 4096 to a version), of the same step
-- in the current version. Primary key of tasks; index of task_revisions by task and version.
SELECT DISTINCT r.task_id, r.version, t.version, r.definition -> 'redact'
FROM unnest(%(tasks)s::uuid[], %(versions)s::int[]) AS w (task_id, version)
JOIN tasks t ON t.id = w.task_id
CROSS JOIN LATERAL (
    VALUES (w.version), (t.version), (
        CASE WHEN w.version >= 1610612736
        THEN 1610612736 + t.version * 4096 + w.version %% 4096 END
    )
) AS same (version)
JOIN task_revisions r ON r.task_id = w.task_id AND r.version = same.version
WHERE r.definition -> 'redact' IS NOT NULL
