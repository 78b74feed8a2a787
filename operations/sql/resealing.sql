-- name: take_time
-- Lets the statements of this transaction read tables of any size from end to end.
SET LOCAL statement_timeout = 0

-- name: lock_next
-- Locks the next values of a column that another key than the active one has sealed, in the order
-- of their rows. Skips rows that another session changes in this moment. Reads the table in the
-- order of the index of its keys.
SELECT {columns} FROM {table} AS t
WHERE octet_length({column}) > 2 AND {behind}
  AND substring({column} FROM 1 FOR %(length)s) <> %(header)s
ORDER BY {keys} LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED

-- name: write
-- Writes one locked value as the active key has sealed it. By the keys of its row.
UPDATE {table} AS t SET {assigned} = %(sealed)s WHERE ({keys}) = ({values})

-- name: counts
-- Returns how many values of a column each key has sealed. Reads the table from end to end, of each
-- value only its begin.
SELECT convert_from(substring({column} FROM 3 FOR get_byte(substring({column} FROM 2 FOR 1), 0)),
                    'UTF8') AS key, count(*)
FROM {table} AS t WHERE octet_length({column}) > 2
GROUP BY 1 ORDER BY 1
