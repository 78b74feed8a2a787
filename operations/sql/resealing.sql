-- name: take_time
-- Lets the statements of this transaction read tables of any size from end to end.
SET LOCAL statement_timeout = 0

-- name: plan_in_order
-- Makes the next statements of this transaction read by an index that has their order. A sort would
-- read the whole stretch again for each 100 values.
SET LOCAL enable_sort = off

-- name: find
-- Returns the next values of a column that another key than the active one has sealed, in the order
-- of their keys. Locks none: where such values are rare, the scan may take minutes. The stretch is
-- one day of a table that is kept by day, else the whole table: an index has the order of the keys.
SELECT {columns} FROM {table} AS t
WHERE {stretch} AND octet_length({column}) > 2 AND {behind}
  AND substring({column} FROM 1 FOR %(length)s) <> %(header)s
ORDER BY {keys} LIMIT %(limit)s

-- name: write
-- Writes one value as the active key has sealed it, unless the row has another value by now. Skips
-- the row while another session has it locked, and so waits for none. By the keys of the row.
WITH locked AS (
    SELECT FROM {table} AS t WHERE ({keys}) = ({values}) AND {column} = %(old)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {table} AS t SET {assigned} = %(sealed)s
WHERE ({keys}) = ({values}) AND EXISTS (SELECT FROM locked)

-- name: counts
-- Returns how many values of a column each key has sealed. Reads the table from end to end, of each
-- value only its begin.
SELECT convert_from(substring({column} FROM 3 FOR get_byte(substring({column} FROM 2 FOR 1), 0)),
                    'UTF8') AS key, count(*)
FROM {table} AS t WHERE octet_length({column}) > 2
GROUP BY 1 ORDER BY 1
