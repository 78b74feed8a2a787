from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.state import ProjectState

from shared.statistics_kept import days_seldom_analyzed, seldom_analyzed, without_statistics

pytestmark = pytest.mark.django_db

_DEPTHS = """
SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relname LIKE 'visits%%' AND a.attstattarget = 0 ORDER BY c.relname, a.attname
"""
_OPTIONS = "SELECT relname FROM pg_class WHERE relname LIKE 'visits%%' AND reloptions = %s"
_IN_INDEXES = """
SELECT c.relname, a.attname FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
JOIN pg_index x ON x.indrelid = c.oid
WHERE a.attstattarget = 0 AND a.attnum = ANY(x.indkey)
"""
SELDOM = ["autovacuum_analyze_scale_factor=0.5"]


def ask(sql: str, *parameters: list[str]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters or None)
        return list(cursor.fetchall())


@pytest.fixture(autouse=True)
def visits() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE visits (day integer, seen text) PARTITION BY RANGE (day)")
        cursor.execute("CREATE TABLE visits_1 PARTITION OF visits FOR VALUES FROM (1) TO (2)")
        cursor.execute("CREATE TABLE visits_2 PARTITION OF visits FOR VALUES FROM (2) TO (3)")
        cursor.execute("CREATE TABLE visits_of_all (day integer)")


def step(operation: Any, *, back: bool = False) -> None:
    with connection.schema_editor(atomic=False) as editor:
        go = operation.database_backwards if back else operation.database_forwards
        go("tasks", editor, ProjectState(), ProjectState())


def test_columns_without_statistics_are_so_in_every_part():
    operation = without_statistics("visits", ["seen"])

    step(operation)
    assert ask(_DEPTHS) == [("visits", "seen"), ("visits_1", "seen"), ("visits_2", "seen")]

    step(operation, back=True)
    assert ask(_DEPTHS) == []


@pytest.mark.parametrize(
    ("operation", "changed"),
    [
        (seldom_analyzed("visits_of_all"), ["visits_of_all"]),
        (days_seldom_analyzed("visits"), ["visits_1", "visits_2"]),
    ],
)
def test_tables_are_seldom_analyzed(operation: Any, changed: list[str]):
    step(operation)
    assert sorted(name for [name] in ask(_OPTIONS, SELDOM)) == changed

    step(operation, back=True)
    assert ask(_OPTIONS, SELDOM) == []


def test_what_an_index_leads_by_has_statistics():
    assert ask("SELECT count(*) FROM pg_attribute WHERE attstattarget = 0")[0][0] > 50
    assert ask(_IN_INDEXES) == []
