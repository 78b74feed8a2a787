-- name: count_tasks
-- Returns how many tasks of a tenant name each calendar. The partial index
-- tasks_with_calendars_idx holds the few that name any.
SELECT named.name, count(*)
FROM tasks t, jsonb_array_elements_text(t.schedule -> 'calendars') AS named (name)
WHERE t.tenant_id = %(tenant)s AND t.deleted_at IS NULL
  AND NOT (t.schedule -> 'calendars' = '[]'::jsonb)
GROUP BY named.name
