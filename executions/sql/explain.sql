-- name: partition
-- Returns the owner of a partition, its epoch, the end of its lease, and that scheduler's last
-- heartbeat. Primary keys.
SELECT l.owner, l.epoch, least(l.expires_at, n.lease_expires_at), n.name, n.heartbeat_at
FROM partition_leases l LEFT JOIN scheduler_nodes n ON n.id = l.owner
WHERE l.partition = %(partition)s

-- name: partitions
-- Returns the same of several partitions, each with its number. Primary keys.
SELECT l.partition, l.owner, l.epoch, least(l.expires_at, n.lease_expires_at), n.name,
       n.heartbeat_at
FROM partition_leases l LEFT JOIN scheduler_nodes n ON n.id = l.owner
WHERE l.partition = ANY(%(partitions)s::integer[])

-- name: before_in_line
-- Counts executions that wait at the same gate and came before. Index open_executions_gated_idx.
SELECT count(*) FROM open_executions e
WHERE e.task_id = %(task)s
  AND e.series_id IS NOT DISTINCT FROM %(series)s::uuid
  AND e.status = 'PENDING' AND e.gated AND e.due_at < %(due)s
