from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import NotSupportedError, connection, models, transaction
from django.db.migrations.state import ModelState, ProjectState

from shared.day_indexes import AddIndexDayByDay

pytestmark = pytest.mark.django_db(transaction=True)

INDEX = models.Index(fields=["name"], name="visits_by_name_idx", condition=~models.Q(name=""))
_STATE = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
_PARTS = """
SELECT d.indisvalid FROM pg_inherits i JOIN pg_index d ON d.indexrelid = i.inhrelid
WHERE i.inhparent = 'visits_by_name_idx'::regclass
"""


def run(sql: str, *parameters: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters or None)
        return cursor.fetchall() if cursor.description else []


def day(name: str, low: int) -> None:
    run(f"CREATE TABLE {name} PARTITION OF visits FOR VALUES FROM ({low}) TO ({low + 10})")


@pytest.fixture(autouse=True)
def visits() -> Iterator[None]:
    run("CREATE TABLE visits (id integer NOT NULL, name text NOT NULL) PARTITION BY RANGE (id)")
    day("visits_20260101", 0)
    day("visits_20260102", 10)
    run("INSERT INTO visits VALUES (1, 'a'), (11, 'b'), (12, '')")
    yield
    run("DROP TABLE visits")


def migrate(*, backwards: bool = False) -> None:
    operation = AddIndexDayByDay("visit", INDEX)
    before = ProjectState()
    fields: dict[str, models.Field[Any, Any]] = {
        "id": models.IntegerField(primary_key=True),
        "name": models.TextField(),
    }
    before.add_model(ModelState("shared", "Visit", fields, {"db_table": "visits", "indexes": []}))
    after = before.clone()
    operation.state_forwards("shared", after)
    with connection.schema_editor(atomic=False) as editor:
        if backwards:
            operation.database_backwards("shared", editor, after, before)
        else:
            operation.database_forwards("shared", editor, before, after)


def test_each_day_has_its_part_of_a_valid_index():
    migrate()

    assert run(_STATE, INDEX.name) == [(True,)]
    assert run(_PARTS) == [(True,), (True,)]


def test_a_day_that_is_made_later_has_its_part():
    migrate()
    day("visits_20260103", 20)

    assert run(_PARTS) == [(True,)] * 3


def test_a_run_that_was_cut_off_is_finished_by_the_next():
    # As it is left after the first day was done and the second begun.
    migrate()
    run("DROP INDEX visits_by_name_idx")
    run("CREATE INDEX visits_by_name_idx ON ONLY visits (name) WHERE NOT name = ''")
    run("CREATE INDEX visits_by_name_idx_20260101 ON visits_20260101 (name) WHERE NOT name = ''")
    run("ALTER INDEX visits_by_name_idx ATTACH PARTITION visits_by_name_idx_20260101")
    run("CREATE INDEX visits_by_name_idx_20260102 ON visits_20260102 (id)")

    migrate()

    assert run(_STATE, INDEX.name) == [(True,)]
    assert run(_PARTS) == [(True,), (True,)]


def test_a_table_without_days_has_the_index_too():
    run("DROP TABLE visits_20260101, visits_20260102")

    migrate()

    assert run(_STATE, INDEX.name) == [(True,)]


def test_backwards_all_of_it_goes():
    migrate()

    migrate(backwards=True)

    assert run("SELECT to_regclass('visits_by_name_idx_20260101')") == [(None,)]
    assert run("SELECT to_regclass('visits_by_name_idx')") == [(None,)]


def test_within_a_transaction_it_refuses():
    with transaction.atomic(), pytest.raises(NotSupportedError):
        migrate()
