-- name: take_time
-- Lets the statements of this transaction read tables of any size from end to end.
SET LOCAL statement_timeout = 0

-- name: plan_in_order
-- Makes the next statements of this transaction read by indexes, in the order of one. A sort would
-- read the whole stretch again for each batch, and the owner of each value would be looked for in
-- all of a table that was counted while it was small.
SELECT set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)

-- name: owner_of_link
-- Returns the tenant of a row that has none of its own: that of the row which it points to.
(SELECT o.tenant_id FROM {owner} AS o WHERE o.id = {link})

-- name: plan_by_keys
-- Makes the next statements of this transaction find each wanted row by its keys. Statistics that lag
-- behind a day that grows would have the whole day read for some values.
SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('enable_seqscan', 'off', true)

-- name: find
-- Returns the next values of a column that other keys than the wanted ones have sealed, in the order
-- of their keys, up to the one that makes them `bytes` long. Locks none: where such values are rare,
-- the scan may take minutes. The stretch is one day of a table that is kept by day, else the whole
-- table: an index has the order of the keys. `headers` are what values begin with that need nothing:
-- of the keys that seal.
SELECT {found} FROM (
    SELECT {columns}, {tenant} AS tenant, {column} AS value,
           sum(octet_length({column})) OVER (ORDER BY {keys} ROWS UNBOUNDED PRECEDING)
             - octet_length({column}) AS before
    FROM {table} AS t
    WHERE {stretch} AND octet_length({column}) > 2 AND {behind} AND {of_tenant}
      AND substring({column} FROM 1 FOR 2 + get_byte({column}, 1)) <> ALL(%(headers)s::bytea[])
    ORDER BY {keys} LIMIT %(limit)s
) AS f
WHERE f.before < %(bytes)s

-- name: write
-- Writes values as the keys that seal have sealed them, each unless its row has another one by now.
-- Skips rows while another session has them locked, and so waits for none. By the keys of the rows,
-- in the stretch that the values were found in.
WITH locked AS (
    SELECT {keys}, w.new_one
    FROM unnest({values}, %(old)s::bytea[], %(sealed)s::bytea[]) AS w ({names}, old_one, new_one)
    JOIN {table} AS t ON ({keys}) = ({keys_of_w})
    WHERE {stretch} AND {column} = w.old_one
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
UPDATE {table} AS t SET {assigned} = l.new_one FROM locked AS l
WHERE {stretch} AND ({keys}) = ({keys_of_l})

-- name: counts
-- Returns how many values of a column each key has sealed: its name, or the id of a data key as
-- hexadecimal digits. Reads the table from end to end, of each value only its begin.
SELECT CASE get_byte({column}, 0)
         WHEN 2 THEN encode(substring({column} FROM 3 FOR 16), 'hex')
         ELSE convert_from(substring({column} FROM 3 FOR get_byte({column}, 1)), 'UTF8')
       END AS key, get_byte({column}, 0) = 2 AS is_data_key, count(*)
FROM {table} AS t WHERE octet_length({column}) > 2
GROUP BY 1, 2 ORDER BY 1

-- name: left_of_tenant
-- Returns how many values of a tenant other keys than the wanted ones have sealed, in one column.
-- Reads the table from end to end, of each value only its begin.
SELECT count(*) FROM {table} AS t
WHERE octet_length({column}) > 2 AND {of_tenant}
  AND substring({column} FROM 1 FOR 2 + get_byte({column}, 1)) <> ALL(%(headers)s::bytea[])

-- name: under_key
-- Returns whether one value of a column begins with the header of a key.
SELECT EXISTS (
    SELECT FROM {table} AS t WHERE octet_length({column}) > 2
      AND substring({column} FROM 1 FOR 2 + get_byte({column}, 1)) = %(header)s
)

-- name: handed_out_before
-- Returns whether an execution of the tenant that a worker may hold was handed out before a moment:
-- its message, and its outcome, may have values of the key that was replaced then.
SELECT EXISTS (
    SELECT FROM open_executions e
    WHERE e.tenant_id = %(tenant)s AND e.status IN ('QUEUED', 'RUNNING') AND e.pool <> 'workflow'
      AND coalesce(e.queued_at, e.created_at) < %(moment)s
)

-- name: open_since_before
-- Returns whether another session's transaction has begun before a moment: what it has sealed under
-- the key that was replaced then cannot be seen yet. An owner that is no superuser does not see when
-- transactions of other roles began: each that is open counts.
SELECT EXISTS (
    SELECT FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
      AND (a.backend_type = 'client backend' AND a.xact_start < %(moment)s
           OR a.backend_type IS NULL AND EXISTS (
               SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'virtualxid'))
)

-- name: take_turn
-- Takes the turn of a resealing for this session; false while another one has it.
SELECT pg_try_advisory_lock(hashtextextended('resealing:' || %(id)s::text, 0))

-- name: give_turn_back
-- Gives the turn of a resealing back.
SELECT pg_advisory_unlock(hashtextextended('resealing:' || %(id)s::text, 0))

-- name: open_versions
-- Returns the next versions of tasks whose targets hold URL or arguments in clear, with their
-- tenants, behind one of them and in the order of their ids, up to the one that makes them `bytes`
-- long; of one tenant where it is given. Only of tenants whose targets are sealed. Locks none; by
-- primary key.
SELECT id, tenant_id, task_id, version, definition, sealed FROM (
    SELECT r.id, t.tenant_id, r.task_id, r.version, r.definition, r.sealed,
           sum(octet_length(r.sealed)) OVER (ORDER BY r.id ROWS UNBOUNDED PRECEDING)
             - octet_length(r.sealed) AS before
    FROM task_revisions r JOIN tasks t ON t.id = r.task_id
    WHERE r.id > %(after)s AND r.definition -> 'target' ?| '{url,arguments}'
      AND NOT r.definition ? 'erased'
      AND (%(tenant)s::uuid IS NULL OR t.tenant_id = %(tenant)s)
      AND EXISTS (
          SELECT FROM data_keys k
          WHERE k.tenant_id = t.tenant_id AND k.replaced_at IS NULL AND k.seals_targets)
    ORDER BY r.id LIMIT %(limit)s
) AS f
WHERE f.before < %(bytes)s ORDER BY id

-- name: close_version
-- Gives a version its readable part without URL and arguments, and the sealed part with them,
-- unless it has another sealed part by now: an erasure, or a new key. By primary key.
UPDATE task_revisions SET definition = %(plain)s::jsonb, sealed = %(sealed)s
WHERE id = %(id)s AND sealed = %(old)s AND NOT definition ? 'erased'

-- name: open_jobs
-- Returns the next bulk jobs whose options hold addresses in clear, as open_versions does versions.
SELECT id, tenant_id, options, sealed_payload FROM (
    SELECT j.id, j.tenant_id, j.options, j.sealed_payload,
           sum(coalesce(octet_length(j.sealed_payload), 0))
             OVER (ORDER BY j.id ROWS UNBOUNDED PRECEDING)
             - coalesce(octet_length(j.sealed_payload), 0) AS before
    FROM bulk_jobs j
    WHERE j.id > %(after)s
      AND (j.options -> 'into' ? 'url'
        OR jsonb_typeof(j.options #> '{set,target}') = 'object'
          AND NOT j.options #> '{set,target}' ? 'origin')
      AND (%(tenant)s::uuid IS NULL OR j.tenant_id = %(tenant)s)
      AND EXISTS (
          SELECT FROM data_keys k
          WHERE k.tenant_id = j.tenant_id AND k.replaced_at IS NULL AND k.seals_targets)
    ORDER BY j.id LIMIT %(limit)s
) AS f
WHERE f.before < %(bytes)s ORDER BY id

-- name: close_job
-- Gives a bulk job options without addresses, and the sealed part with them. Skips a job that a
-- step has locked, or whose sealed part an erasure has removed meanwhile. By primary key.
UPDATE bulk_jobs SET options = %(options)s::jsonb, sealed_payload = %(sealed)s
WHERE id = (SELECT j.id FROM bulk_jobs j WHERE j.id = %(id)s
            AND j.sealed_payload IS NOT DISTINCT FROM %(old)s::bytea FOR UPDATE SKIP LOCKED)

-- name: open_left
-- Returns how many versions, and how many bulk jobs, hold in clear what belongs into their sealed
-- part; of one tenant or of all. Reads both tables from end to end.
SELECT (
    SELECT count(*) FROM task_revisions r JOIN tasks t ON t.id = r.task_id
    WHERE r.definition -> 'target' ?| '{url,arguments}' AND NOT r.definition ? 'erased'
      AND (%(tenant)s::uuid IS NULL OR t.tenant_id = %(tenant)s)
), (
    SELECT count(*) FROM bulk_jobs j
    WHERE (j.options -> 'into' ? 'url'
        OR jsonb_typeof(j.options #> '{set,target}') = 'object'
          AND NOT j.options #> '{set,target}' ? 'origin')
      AND (%(tenant)s::uuid IS NULL OR j.tenant_id = %(tenant)s)
)
