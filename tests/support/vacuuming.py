"""Removes between tests what rolled back transactions have left in the tables.

PostgreSQL vacuums nothing by itself here, and each test that is rolled back leaves the rows that it
wrote: one that takes the partitions leaves four pages of them, which every later look at the
partitions reads. After a thousand such tests that is most of what a look costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from psycopg import sql

#: Tests between two vacuums, and the pages from which on a table is vacuumed.
_TESTS, _PAGES = 50, 32
_LARGE = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
  AND pg_relation_size(oid) > %s * current_setting('block_size')::bigint
"""
# What a vacuum counts would lead later plans; to the planner the tables stay as new as they were.
_AS_NEW = "SELECT pg_clear_relation_stats('public', %s)"


class _Session:
    waiting = 0
    #: Before there is a database, and while plans go by what was counted of its tables.
    is_held = True


@contextmanager
def allowed() -> Iterator[None]:
    """Vacuum within the block, in which there is a test database."""
    _Session.is_held = False
    try:
        yield
    finally:
        _Session.is_held = True


@contextmanager
def held() -> Iterator[None]:
    """Vacuum nothing within the block, where plans go by what was counted of the tables."""
    former, _Session.is_held = _Session.is_held, True
    try:
        yield
    finally:
        _Session.is_held = former


def vacuum_now_and_then() -> None:
    """Vacuum large tables once in some calls; one call after each test that had the database."""
    _Session.waiting += 1
    if _Session.waiting < _TESTS or _Session.is_held or connection.in_atomic_block:
        return
    _Session.waiting = 0
    was_open = connection.connection is not None
    with connection.cursor() as cursor:
        cursor.execute(_LARGE, [_PAGES])
        for (name,) in cursor.fetchall():
            cursor.execute(sql.SQL("VACUUM {}").format(sql.Identifier(name)))
            cursor.execute(_AS_NEW, [name])
    if not was_open:
        connection.close()
