-- name: start_targets
-- Returns which of these tasks have a target of their start, with its seconds. Index
-- task_revisions_targets_idx.
SELECT t.id, (r.definition #>> '{targets,start_within_seconds}')::float8
FROM tasks t JOIN task_revisions r ON r.task_id = t.id AND r.version = t.version
WHERE t.id = ANY(%(tasks)s::uuid[]) AND r.definition ? 'targets'
  AND r.definition #> '{targets,start_within_seconds}' <> 'null'

-- name: targets
-- Returns which of these tasks have targets, with the seconds of each. Index
-- task_revisions_targets_idx.
SELECT t.id, (r.definition #>> '{targets,start_within_seconds}')::float8,
       (r.definition #>> '{targets,max_duration_seconds}')::float8
FROM tasks t JOIN task_revisions r ON r.task_id = t.id AND r.version = t.version
WHERE t.id = ANY(%(tasks)s::uuid[]) AND r.definition ? 'targets'
  AND jsonb_path_exists(r.definition, '$.targets.* ? (@ != null)')
