"""The tables that tasks lie in: filled by copies, brought to rest, measured, and projected.

Copies share definition and sealed part of the tasks that they are copied from. The sealed part
belongs to its own task alone, so a copy can be read by no process and only waits. The audit entry
and the event that each creation writes are not made, nor counted in the bytes of a task.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

import psycopg

from bench.installation import InstallationError

#: The size that is projected from what was measured.
PROJECTED = 100_000_000
_TABLES = ("tasks", "task_cursors", "task_revisions")
_CHUNK = 100_000
#: A key of 16 bytes and its pointer take 28; inner pages of 8 KiB are about two thirds full.
_PER_INNER_PAGE = 200
_GIB = 2**30
_COUNT = "SELECT count(*) FROM tasks WHERE status = 'SCHEDULED'"
# Due in no order, as tasks of many schedules are: an index filled in its own order is smaller.
_FILL = """
WITH made AS MATERIALIZED (
    SELECT uuidv7() AS id, n, s.id AS sample,
           now() - interval '30 days' + n * interval '1 millisecond' AS created_at,
           (%(tenants)s::uuid[])[(n %% cardinality(%(tenants)s::uuid[]) + 1)::integer] AS tenant_id
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
    JOIN unnest(%(samples)s::uuid[]) WITH ORDINALITY AS s (id, place)
      ON s.place = n %% cardinality(%(samples)s::uuid[]) + 1
), rested AS (
    INSERT INTO tasks (id, tenant_id, name, type, status, version, partition, priority, schedule,
        labels, pool, destination, pause_note, on_resume, failure_streak,
        pause_after_failures, last_execution_status, created_at, updated_at)
    SELECT m.id, m.tenant_id, 'at rest ' || m.n, t.type, 'SCHEDULED', 1, m.n / 7 %% 256,
           t.priority, t.schedule, jsonb_build_object('team', 'team-' || m.n %% 50), t.pool,
           t.destination, '', 'skip', 0, t.pause_after_failures, '', m.created_at, m.created_at
    FROM made m JOIN tasks t ON t.id = m.sample
), ahead AS (
    INSERT INTO task_cursors (task_id, tenant_id, partition, next_run_at, occurrence_count, held)
    SELECT m.id, m.tenant_id, m.n / 7 %% 256,
           now() + interval '30 days' + (m.n * 7919 %% 31536000) * interval '1 second', 0, false
    FROM made m
)
INSERT INTO task_revisions (task_id, version, definition, sealed, changed_by, created_at)
SELECT m.id, 1, r.definition, r.sealed, 'bench', m.created_at
FROM made m JOIN task_revisions r ON r.task_id = m.sample AND r.version = 1
"""
_SIZES = """
SELECT c.relname, greatest(c.reltuples, 0)::bigint, pg_table_size(c.oid), pg_indexes_size(c.oid)
FROM pg_class c WHERE c.oid = ANY(%s::regclass[]) ORDER BY c.relname DESC
"""
_INDEXES = """
SELECT i.relname, a.amname, pg_relation_size(i.oid), greatest(i.reltuples, 0)::bigint, i.relpages
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_am a ON a.oid = i.relam
WHERE x.indrelid = ANY(%s::regclass[]) ORDER BY t.relname DESC, pg_relation_size(i.oid) DESC
"""
# The level of the root; leaves are level 0.
_LEVEL = "SELECT level FROM bt_metap(%s)"
_INSPECTS = "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pageinspect')"


@dataclass(frozen=True, slots=True)
class Table:
    """A table's rows, and the bytes of itself (with what lies outside the rows) and its indexes."""

    name: str
    rows: int
    table_bytes: int
    index_bytes: int

    @property
    def bytes_per_row(self) -> float:
        """Return what a row takes, with its entries of all indexes."""
        return (self.table_bytes + self.index_bytes) / max(1, self.rows)


@dataclass(frozen=True, slots=True)
class Index:
    """An index; ``depth`` is the pages from its root to a leaf as PostgreSQL says, if it does."""

    name: str
    method: str
    bytes: int
    entries: int
    pages: int
    depth: int | None = None

    def depth_at(self, factor: float) -> int | None:
        """Return the pages from root to leaf with ``factor`` times the entries; None if no tree."""
        if self.method != "btree" or not self.entries:
            return None
        return depth_of(round(self.entries * factor), self.entries / max(1, self.pages))


@dataclass(frozen=True, slots=True)
class Stored:
    """What the tables and their indexes take at one size."""

    tables: Sequence[Table]
    indexes: Sequence[Index]

    @property
    def bytes_per_task(self) -> float:
        """Return what a task takes with its only revision."""
        return sum(table.bytes_per_row for table in self.tables)

    @property
    def factor(self) -> float:
        """Return how many times as many tasks the projected size has."""
        return PROJECTED / max(1, *(table.rows for table in self.tables))

    def lines(self) -> list[str]:
        """Return the figures for people."""
        found = [
            f"{table.name}: {table.rows} rows, {table.bytes_per_row:.0f} bytes a row, "
            f"{table.index_bytes / max(1, table.rows):.0f} of them in indexes"
            for table in self.tables
        ]
        found += [
            f"  {index.name:44} {index.bytes / 2**20:8.1f} MiB, depth {index.depth or '-'}, "
            f"at {PROJECTED:,} tasks {index.depth_at(self.factor) or '-'}"
            for index in self.indexes
        ]
        total = self.bytes_per_task * PROJECTED / _GIB
        return [*found, f"{PROJECTED:,} tasks by these bytes: {total:.0f} GiB"]

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "tables": [asdict(table) for table in self.tables],
            "indexes": [
                {**asdict(index), "projected_depth": index.depth_at(self.factor)}
                for index in self.indexes
            ],
            "bytes_per_task": round(self.bytes_per_task),
            "projected_tasks": PROJECTED,
        }


def depth_of(entries: int, per_leaf: float) -> int:
    """Return the pages from root to leaf of a tree whose leaves hold ``per_leaf`` entries each."""
    pages, depth = math.ceil(entries / max(1.0, per_leaf)), 1
    while pages > 1:
        pages, depth = math.ceil(pages / _PER_INNER_PAGE), depth + 1
    return depth


def chunks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the numbers from first to last (both included) in parts of one statement each."""
    for begin in range(first, last + 1, _CHUNK):
        yield begin, min(last, begin + _CHUNK - 1)


def fill(address: str, size: int, tenants: Sequence[UUID], samples: Sequence[str]) -> None:
    """Copy the samples until ``size`` tasks wait, in turn for each tenant; a part per commit."""
    there = count(address)
    with _session(address) as session:
        for first, last in chunks(there + 1, size):
            values = {"tenants": list(tenants), "samples": [UUID(one) for one in samples]}
            session.execute(_FILL, {**values, "first": first, "last": last})
            print(f"{last} of {size} tasks at rest", flush=True)


def count(address: str) -> int:
    """Return how many tasks wait."""
    with _session(address) as session:
        [(found,)] = session.execute(_COUNT).fetchall()
    return int(found)


def settle(address: str) -> None:
    """Leave the tables as days of rest would: cleaned, known to the planner, and on the disk."""
    with _session(address) as session:
        session.execute(
            "VACUUM (ANALYZE, INDEX_CLEANUP ON) tasks, task_cursors, task_revisions, executions"
        )
        session.execute("CHECKPOINT")


def read(address: str) -> Stored:
    """Return what the tables take now; depths where the server can look into indexes."""
    settle(address)
    names = list(_TABLES)
    with _session(address) as session:
        tables = [Table(*row) for row in session.execute(_SIZES, [names])]
        indexes = [Index(*row) for row in session.execute(_INDEXES, [names])]
        if session.execute(_INSPECTS).fetchall()[0][0]:
            session.execute("CREATE EXTENSION IF NOT EXISTS pageinspect")
            indexes = [_with_depth(session, index) for index in indexes]
        return Stored(tables, indexes)


def _with_depth(session: psycopg.Connection[Any], index: Index) -> Index:
    if index.method != "btree":
        return index
    [(level,)] = session.execute(_LEVEL, [index.name]).fetchall()
    return replace(index, depth=level + 1)


@contextmanager
def _session(address: str) -> Iterator[psycopg.Connection[Any]]:
    # Without a transaction around: VACUUM refuses one, and each part of a filling is its own.
    try:
        with psycopg.connect(address, autocommit=True) as session:
            yield session
    except psycopg.Error as error:
        raise InstallationError(f"the database: {error}") from error
