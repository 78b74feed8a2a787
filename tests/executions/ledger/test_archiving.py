from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import psycopg
import pytest
from django.db import connection

from events.models import Event
from executions.housekeeping import stage as housekeeping
from executions.ledger import archiving, retention
from executions.ledger import days as ledger
from executions.ledger.archive import parts
from executions.ledger.archive.parts import Damaged
from executions.ledger.archive.writing import Source, write_table
from executions.ledger.archiving import export_day, restore_day
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution
from shared.conf import conf
from shared.exceptions import Conflict, NotFound
from tenants.models import Tenant
from tests.executions.ledger.archive.files import files_in
from tests.executions.old_days import (
    A_DAY,
    address,
    ago,
    all_rows,
    days_of,
    forget,
    make_days,
    name_of,
    put,
    tables,
)
from tests.factories import make_tenant, release

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def root(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Path]:
    settings.PUNCTUAL = replace(conf(), retention_days=10, archive_dir=str(tmp_path))
    forget()
    yield tmp_path
    forget()


@pytest.fixture
def alpha(transactional_db: None) -> Tenant:
    return make_tenant("Alpha")


def day(days: int = 20) -> date:
    return ago(days).date()


def rows_of_day(days: int = 20) -> dict[str, list[dict[str, Any]]]:
    return {parent: all_rows(parent, ago(days)) for parent in ledger.DAILY_TABLES}


def archived(
    alpha: Tenant, count: int = 2, message: str = 'say "no",\n'
) -> dict[str, list[dict[str, Any]]]:
    """Let a day leave into the archive; return its rows as they were."""
    for _ in range(count):
        put(alpha, 20, error_message=message, sealed_payload=b"\x00\xff")
    rows = rows_of_day()
    assert housekeeping.drop_old_days() == A_DAY
    return rows


def test_a_day_comes_back_as_it_was(alpha: Tenant, root: Path):
    before = archived(alpha)
    assert not Execution.objects.filter(tenant=alpha).exists()

    done = restore_day(root, day(), keep_days=7)

    assert rows_of_day() == before
    assert done.rows == {"executions": 2, "attempts": 2, "events": 2, "runs": 0, "steps": 0}
    assert (done.left_out, done.kept_until) == (0, database_now().date() + timedelta(days=7))
    assert {name_of(20)} <= set(days_of("executions")) & set(days_of("attempts"))
    assert not [table for table in tables() if "returning" in table]


def test_a_day_that_came_back_uses_the_indexes_of_the_ledger(alpha: Tenant, root: Path):
    archived(alpha)

    restore_day(root, day(), keep_days=7)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid"
            " WHERE x.indrelid = %s::regclass",
            [f"executions_{name_of(20)}"],
        )
        attached = cursor.fetchone()[0]
        cursor.execute(
            "SELECT count(*) FROM pg_index WHERE indrelid = 'ended_executions'::regclass"
        )
        assert attached == cursor.fetchone()[0]
    attempt = Attempt.objects.get(execution_id=Execution.objects.filter(tenant=alpha)[0].id)
    assert attempt.timings == {"total": 12.5}


def test_the_retention_spares_it_until_its_date_and_writes_nothing_twice(alpha: Tenant, root: Path):
    archived(alpha)
    written = files_in(root)
    restore_day(root, day(), keep_days=7)

    assert housekeeping.drop_old_days() == 0
    assert Execution.objects.filter(tenant=alpha).count() == 2

    with connection.cursor() as cursor:
        for parent in ledger.DAILY_TABLES:
            comment = f"kept until {day(1)}"
            cursor.execute(f"COMMENT ON TABLE {parent}_{name_of(20)} IS '{comment}'")
    assert housekeeping.drop_old_days() == A_DAY
    assert files_in(root) == written


def test_what_came_back_does_not_run_again(alpha: Tenant, root: Path):
    archived(alpha)
    restore_day(root, day(), keep_days=7)

    assert release() == []
    assert ledger.oldest_open() is None


def test_a_day_that_the_ledger_has_is_not_restored(alpha: Tenant, root: Path):
    archived(alpha)
    make_days(20)

    with pytest.raises(Conflict, match=f"executions_{name_of(20)}"):
        restore_day(root, day(), keep_days=7)


def test_a_day_that_leaves_just_now_is_not_restored(
    alpha: Tenant, root: Path, monkeypatch: pytest.MonkeyPatch
):
    put(alpha, 20)

    def full(*_: object) -> Any:
        raise OSError(28, "full")

    monkeypatch.setattr(parts.Writer, "finish", full)
    housekeeping.drop_old_days()

    with pytest.raises(Conflict, match="leaving"):
        restore_day(root, day(), keep_days=7)


def test_a_day_that_nobody_archived_is_told(root: Path):
    with pytest.raises(NotFound, match="no executions"):
        restore_day(root, day(), keep_days=7)


def test_a_day_of_which_a_table_is_missing_is_not_restored(alpha: Tenant, root: Path):
    archived(alpha)
    for path in (root / "events").iterdir():
        path.unlink()

    with pytest.raises(NotFound, match="no events"):
        restore_day(root, day(), keep_days=7)

    assert name_of(20) not in days_of()


@pytest.mark.parametrize("table", ledger.DAILY_TABLES)
def test_a_damaged_file_is_refused_before_anything_happens(alpha: Tenant, root: Path, table: str):
    archived(alpha)
    path = root / table / f"{day()}.csv.gz"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)

    with pytest.raises(Damaged, match="has changed"):
        restore_day(root, day(), keep_days=7)

    assert not [name for name in tables() if name_of(20) in name]


def test_a_restore_that_is_cut_off_leaves_nothing_in_the_ledger(
    alpha: Tenant, root: Path, monkeypatch: pytest.MonkeyPatch
):
    before = archived(alpha)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(archiving, "_attach", killed)
    monkeypatch.setattr(archiving, "_drop_returning", lambda session: None)
    with pytest.raises(KeyboardInterrupt):
        restore_day(root, day(), keep_days=7)
    assert name_of(20) not in days_of()
    assert [name for name in tables() if "returning" in name]

    monkeypatch.undo()
    restore_day(root, day(), keep_days=7)

    assert rows_of_day() == before
    assert not [name for name in tables() if "returning" in name]


def test_a_day_that_is_made_meanwhile_wins(
    alpha: Tenant, root: Path, monkeypatch: pytest.MonkeyPatch
):
    archived(alpha)
    attach = archiving._attach

    def made_meanwhile(session: Any, *rest: Any) -> None:
        make_days(20)
        attach(session, *rest)

    monkeypatch.setattr(archiving, "_attach", made_meanwhile)
    with pytest.raises(Conflict, match="again"):
        restore_day(root, day(), keep_days=7)

    assert not Execution.objects.filter(tenant=alpha).exists()
    assert not [name for name in tables() if "returning" in name]


def test_tenants_that_were_removed_do_not_come_back(alpha: Tenant, root: Path):
    gone, execution = uuid4(), put(alpha, 20)
    Event.objects.filter(subject_id=execution.id).update(tenant_id=gone)
    Attempt.objects.filter(execution_id=execution.id).update(tenant_id=gone)
    Execution.objects.filter(id=execution.id).update(tenant_id=gone)
    archived(alpha)

    done = restore_day(root, day(), keep_days=7)

    assert done.rows == {"executions": 2, "attempts": 2, "events": 2, "runs": 0, "steps": 0}
    assert done.left_out == 3
    assert not Execution.objects.filter(tenant_id=gone).exists()


def test_all_parts_of_a_day_come_back(alpha: Tenant, root: Path):
    first = archived(alpha, 1)
    second = archived(alpha, 1)

    done = restore_day(root, day(), keep_days=7)

    assert done.rows["executions"] == 2
    both = sorted(first["executions"] + second["executions"], key=lambda row: row["id"])
    assert rows_of_day()["executions"] == both


def test_columns_that_are_new_since_get_their_defaults(alpha: Tenant, root: Path):
    archived(alpha, 1, message="plain")
    _write_without(root, "parked")

    restore_day(root, day(), keep_days=7)

    assert Execution.objects.get(tenant=alpha).parked is False


def _write_without(root: Path, column: str) -> None:
    """Write the day's executions as a version did that did not have the column."""
    (part,) = parts.parts_of(root, "executions", f"{day()}")
    columns = dict(part.facts.columns)
    place = list(columns).index(column)
    del columns[column]
    # No value holds a comma or the end of a line.
    lines = [line.decode().rstrip("\n").split(",") for line in parts.contents(root, part)]
    part.manifest(root).unlink()
    with parts.writing(root, "executions", f"{day()}") as writer:
        for values in lines:
            writer.write((",".join(values[:place] + values[place + 1 :]) + "\n").encode())
        writer.finish(len(lines) - 1, replace(part.facts, columns=columns))


def test_columns_that_are_gone_since_are_told(alpha: Tenant, root: Path):
    archived(alpha)
    manifest = root / "executions" / f"{day()}.json"
    told = orjson.loads(manifest.read_bytes())
    told["facts"]["columns"]["colour"] = "text"
    manifest.write_bytes(orjson.dumps(told))

    with pytest.raises(Conflict, match="colour"):
        restore_day(root, day(), keep_days=7)

    assert name_of(20) not in days_of()


def test_rows_that_this_version_refuses_are_told(alpha: Tenant, root: Path):
    archived(alpha, 1, message="plain")
    (part,) = parts.parts_of(root, "executions", f"{day()}")
    content = b"".join(parts.contents(root, part)).replace(b"SUCCEEDED", b"FORMER")
    part.manifest(root).unlink()
    with parts.writing(root, "executions", f"{day()}") as writer:
        writer.write(content)
        writer.finish(1, part.facts)

    with pytest.raises(Conflict, match="does not fit"):
        restore_day(root, day(), keep_days=7)

    assert not [name for name in tables() if name_of(20) in name]


def test_an_export_holds_what_the_day_is_now(alpha: Tenant, root: Path):
    put(alpha, 20)
    before = rows_of_day()

    done = export_day(root, day())

    assert [(part.table, part.rows) for part in done.parts] == [
        (parent, 0 if parent in ("runs", "steps") else 1) for parent in ledger.DAILY_TABLES
    ]
    assert done.unfinished == 0
    assert not any(part.facts.final for part in done.parts)
    assert rows_of_day() == before


def test_an_export_is_replaced_when_the_day_leaves_with_more(alpha: Tenant, root: Path):
    put(alpha, 20)
    export_day(root, day())
    put(alpha, 20)

    housekeeping.drop_old_days()

    (part,) = parts.parts_of(root, "executions", f"{day()}")
    assert (part.rows, part.facts.final) == (2, True)
    assert len(files_in(root)) == 2 * A_DAY


def test_what_was_unfinished_at_an_export_goes_on_and_does_not_come_back_twice(
    alpha: Tenant, root: Path
):
    ended, unfinished = put(alpha, 20), put(alpha, 20, "PENDING", held=True)
    assert export_day(root, day()).unfinished == 1
    drop_day(20)

    restored = restore_day(root, day(), keep_days=7)

    assert restored.rows["executions"] == 1
    assert set(Execution.objects.values_list("id", flat=True)) == {ended.id, unfinished.id}


def test_unfinished_work_in_a_file_of_an_earlier_version_is_never_restored(
    alpha: Tenant, root: Path
):
    put(alpha, 20)
    put(alpha, 20, "PENDING", held=True)
    export_day(root, day())
    with psycopg.connect(**address(), autocommit=True) as session:
        # Its days held what was unfinished, too.
        write_table(session, root, Source("open_executions", "executions", f"{day()}"), final=False)
    drop_day(20)

    with pytest.raises(Conflict, match="1 executions"):
        restore_day(root, day(), keep_days=7)

    assert not [name for name in tables() if name_of(20) in name]


def drop_day(days: int) -> None:
    with connection.cursor() as cursor:
        for parent in ledger.DAILY_TABLES:
            cursor.execute(f"DROP TABLE {parent}_{name_of(days)}")


def test_a_day_that_the_ledger_does_not_have_cannot_be_exported(root: Path):
    with pytest.raises(NotFound, match="does not have"):
        export_day(root, day())

    assert files_in(root) == []


def test_archives_wait_for_their_turn(alpha: Tenant, root: Path):
    put(alpha, 20)

    with retention.turn():
        with pytest.raises(Conflict, match="later"):
            export_day(root, day())
        with pytest.raises(Conflict, match="later"):
            restore_day(root, day(), keep_days=7)


def test_a_day_that_was_archived_before_there_were_workflows_is_restored(alpha: Tenant, root: Path):
    before = archived(alpha)
    for table in ("runs", "steps"):
        for path in (root / table).iterdir():
            path.unlink()

    restored = restore_day(root, day(), keep_days=7)

    assert restored.rows["executions"] == len(before["executions"])
    assert restored.rows["steps"] == 0
    assert name_of(20) in days_of()
