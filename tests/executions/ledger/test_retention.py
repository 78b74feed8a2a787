from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from executions import transitions
from executions.housekeeping import stage as housekeeping
from executions.ledger import days as ledger
from executions.ledger import retention
from executions.ledger.archive import parts
from executions.models import Execution
from shared.conf import conf
from shared.exceptions import Conflict
from shared.sql import statement
from tenants.models import Tenant
from tests.executions.ledger.archive.files import files_in
from tests.executions.old_days import (
    A_DAY,
    address,
    ago,
    days_of,
    forget,
    half_detach,
    make_days,
    mark,
    name_of,
    put,
    tables,
)
from tests.factories import make_tenant
from tests.support.loops import (
    LoginOfLoops,
    as_owner,
    runs_as_loops,  # noqa: F401 - the role of each test
)
from tests.support.waiting import until

#: A table cannot be detached within the transaction of a test.
pytestmark = pytest.mark.django_db(transaction=True)


class Killed(Exception):
    """The process ends here."""


@pytest.fixture(autouse=True)
def _ten_days_kept(
    transactional_db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    settings.PUNCTUAL = replace(conf(), retention_days=10)
    monkeypatch.setattr(retention, "connection", LoginOfLoops)
    monkeypatch.setattr(retention, "_PAUSE_SECONDS", 0.0)
    forget()
    yield
    forget()


@pytest.fixture
def alpha(transactional_db: None) -> Tenant:
    return make_tenant("Alpha")


@pytest.fixture
def archive(tmp_path: Path, settings: Any) -> Path:
    root = tmp_path / "archive"
    settings.PUNCTUAL = replace(conf(), archive_dir=str(root))
    return root


def killed(*_: object) -> Any:
    raise Killed


def tables_of(days: int) -> list[str]:
    return [table for table in tables() if name_of(days) in table]


def test_finished_days_past_the_retention_are_dropped(alpha: Tenant):
    make_days(9, 10, 12, 30)
    put(alpha, 11)

    assert housekeeping.drop_old_days() == 3 * A_DAY

    for parent in ledger.DAILY_TABLES:
        found = days_of(parent)
        assert {name_of(9), name_of(10)} <= set(found)
        assert not {name_of(11), name_of(12), name_of(30)} & set(found)
    assert tables_of(11) == []
    assert housekeeping.drop_old_days() == 0


def test_a_day_with_unfinished_work_stays_and_so_do_younger_ones(alpha: Tenant):
    make_days(20, 40)
    execution = put(alpha, 30, "PENDING")
    put(alpha, 30)
    make_days(*range(12, 50))

    done = housekeeping.run_once()

    # What lies before the day of the execution that is open is gone.
    assert done["days_dropped"] == A_DAY * 19
    assert name_of(31) not in days_of()
    assert {name_of(30), name_of(20)} <= set(days_of("attempts"))
    assert Execution.objects.filter(id=execution.id).exists()

    with as_owner():
        Execution.objects.filter(id=execution.id).update(status="SKIPPED", finished_at=ago(30))
    housekeeping.run_once()
    assert tables_of(30) == []


def test_a_day_is_left_for_the_next_time_where_what_is_open_cannot_be_asked(
    monkeypatch: pytest.MonkeyPatch,
):
    make_days(20)

    def busy() -> Any:
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr(ledger, "oldest_open", busy)
    assert housekeeping.drop_old_days() == 0

    monkeypatch.undo()
    assert name_of(20) in days_of()


def test_a_long_reader_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    make_days(20)
    monkeypatch.setattr(retention, "_OLD_READER_SECONDS", 0.0)

    with psycopg.connect(**address()) as reader:
        reader.execute("SELECT 1 FROM executions LIMIT 1")
        assert housekeeping.drop_old_days() == 0
        # It has not even begun: the day is in the ledger as before.
        assert name_of(20) in days_of()

    assert housekeeping.drop_old_days() == A_DAY


# The table is put aside; archived or not, before the table is dropped.
@pytest.mark.parametrize("step", ["_drop_leaving", "_archive"])
def test_after_a_crash_the_next_run_goes_on(
    monkeypatch: pytest.MonkeyPatch, alpha: Tenant, archive: Path, step: str
):
    put(alpha, 20)
    made = retention.__dict__[step]
    calls: list[int] = []

    def once_then_killed(*arguments: Any) -> Any:
        # The first call of a round looks for what an earlier one has left, and finds nothing.
        calls.append(1)
        return made(*arguments) if step == "_drop_leaving" and len(calls) == 1 else killed()

    monkeypatch.setattr(retention, step, once_then_killed)
    with pytest.raises(Killed):
        housekeeping.drop_old_days()
    # Executions have left the ledger; their table is there, and so is the rest of the day.
    assert name_of(20) not in days_of("executions")
    assert name_of(20) in days_of("attempts")
    assert len(tables_of(20)) == A_DAY

    monkeypatch.setattr(retention, step, made)
    assert housekeeping.drop_old_days() == A_DAY

    assert tables_of(20) == []
    day = f"{ago(20):%Y-%m-%d}"
    assert [part.rows for part in parts.parts_of(archive, "executions", day)] == [1]


def test_a_crash_after_archiving_does_not_archive_twice(
    monkeypatch: pytest.MonkeyPatch, alpha: Tenant, archive: Path
):
    put(alpha, 20)
    named = statement

    def killed_before_drop(path: str) -> str:
        if path == "retention/drop_left_day":
            raise Killed
        return named(path)

    monkeypatch.setattr(retention, "statement", killed_before_drop)
    with pytest.raises(Killed):
        housekeeping.drop_old_days()
    written = files_in(archive)
    assert len(written) == 2

    monkeypatch.setattr(retention, "statement", named)
    assert housekeeping.drop_old_days() == A_DAY

    assert len(files_in(archive)) == 2 * A_DAY
    assert set(written) <= set(files_in(archive))


def test_a_table_that_somebody_has_detached_is_not_touched(alpha: Tenant):
    put(alpha, 20)
    table = f"executions_{name_of(20)}"
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE ended_executions DETACH PARTITION {table}")

    assert housekeeping.drop_old_days() == A_DAY - 1

    assert tables_of(20) == [table]


def test_an_end_whose_day_has_left_is_recorded_in_its_day_and_kept_for_a_while(
    monkeypatch: pytest.MonkeyPatch, alpha: Tenant
):
    late = put(alpha, 20, "PENDING")
    # As if it had been written between the look at what is open and the detachment.
    monkeypatch.setattr(retention, "_may_go", lambda _: True)
    assert housekeeping.drop_old_days() == A_DAY
    monkeypatch.undo()

    with transaction.atomic():
        assert transitions.cancel([(late.id, None)], "cancelled") == [late.id]

    assert Execution.objects.get(id=late.id).status == "CANCELLED"
    assert housekeeping.drop_old_days() == 0
    assert name_of(20) in days_of()


def test_a_day_can_be_made_again_while_its_table_leaves(
    monkeypatch: pytest.MonkeyPatch, alpha: Tenant, archive: Path
):
    first = put(alpha, 20)
    # As a version of before has left it: marked and detached, under the name of its day.
    table = f"executions_{name_of(20)}"
    mark(table, ledger.LEAVING)
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE ended_executions DETACH PARTITION {table}")

    second = put(alpha, 20)

    assert Execution.objects.filter(id=second.id).exists()
    assert not Execution.objects.filter(id=first.id).exists()
    # The one that was leaving, besides.
    assert housekeeping.drop_old_days() == A_DAY + 1
    assert tables_of(20) == []
    found = parts.parts_of(archive, "executions", f"{ago(20):%Y-%m-%d}")
    assert [(part.number, part.rows) for part in found] == [(1, 1), (2, 1)]


def test_each_day_is_archived_before_it_is_dropped(alpha: Tenant, archive: Path):
    put(alpha, 20)
    make_days(19)

    assert housekeeping.drop_old_days() == 2 * A_DAY

    for days, count in ((20, 1), (19, 0)):
        for parent in ledger.DAILY_TABLES:
            (part,) = parts.parts_of(archive, parent, f"{ago(days):%Y-%m-%d}")
            parts.verify(archive, part)
            expected = 0 if parent in ("runs", "steps") else count
            assert (part.rows, part.facts.final) == (expected, True)
            assert part.facts.schema.keys() == {"executions", "events"}


def test_without_room_for_the_archive_nothing_leaves(alpha: Tenant, archive: Path):
    put(alpha, 20)
    archive.parent.mkdir(exist_ok=True)
    archive.write_bytes(b"a file, where the directory should be")

    assert housekeeping.drop_old_days() == 0

    assert name_of(20) in days_of("executions")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), parts.Damaged("unreadable")])
def test_a_day_that_cannot_be_archived_is_not_dropped(
    monkeypatch: pytest.MonkeyPatch, alpha: Tenant, archive: Path, error: Exception
):
    put(alpha, 20)
    put(alpha, 21)

    def refused(*_: object) -> Any:
        raise error

    monkeypatch.setattr(parts.Writer, "finish", refused)
    assert housekeeping.drop_old_days() == 0
    # One table waits for the archive; nothing else has left the ledger.
    assert name_of(21) not in days_of("executions")
    assert {name_of(21), name_of(20)} <= set(days_of("attempts"))
    assert len(tables_of(21)) == A_DAY

    monkeypatch.undo()
    assert housekeeping.drop_old_days() == 2 * A_DAY
    assert parts.parts_of(archive, "executions", f"{ago(21):%Y-%m-%d}")[0].rows == 1


def test_a_day_that_is_in_use_is_tried_again_and_then_left_for_the_next_round(
    monkeypatch: pytest.MonkeyPatch,
):
    make_days(20)
    tries: list[object] = []
    named = retention._named

    def counted(kind: str, day: str) -> dict[str, Any]:
        tries.append(day)
        return named(kind, day)

    monkeypatch.setattr(retention, "_TRIES", 2)
    monkeypatch.setattr(retention, "_named", counted)

    with psycopg.connect(**address()) as reader:
        reader.execute("SELECT 1 FROM executions LIMIT 1")
        assert housekeeping.drop_old_days() == 0
    assert len(tries) == 2
    assert name_of(20) in days_of()

    assert housekeeping.drop_old_days() == A_DAY


def test_a_day_that_a_version_of_before_has_left_detached_is_dropped(alpha: Tenant):
    put(alpha, 20)
    table = f"executions_{name_of(20)}"
    mark(table, ledger.LEAVING)
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE ended_executions DETACH PARTITION {table}")

    assert housekeeping.drop_old_days() == A_DAY
    assert tables_of(20) == []


def test_one_process_at_a_time_lets_days_go():
    make_days(20)

    with retention.turn() as session:
        assert session is not None
        with retention.turn() as other:
            assert other is None
        assert housekeeping.drop_old_days() == 0

    assert housekeeping.drop_old_days() == A_DAY


def test_a_day_that_came_back_is_kept_until_its_date():
    make_days(20, 21)
    for parent in ledger.DAILY_TABLES:
        mark(f"{parent}_{name_of(20)}", f"Back; kept until {ago(0):%Y-%m-%d}.")
        mark(f"{parent}_{name_of(21)}", f"Back; kept until {ago(1):%Y-%m-%d}.")

    assert housekeeping.drop_old_days() == A_DAY

    assert name_of(20) in days_of()
    assert name_of(21) not in days_of()


def test_a_round_ends_after_its_time_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch):
    make_days(20)
    monkeypatch.setattr(retention, "_LONGEST_SECONDS", -1.0)

    assert housekeeping.drop_old_days() == 0

    monkeypatch.undo()
    assert housekeeping.drop_old_days() == A_DAY


def test_no_day_goes_at_or_after_the_oldest_open_execution(alpha: Tenant):
    make_days(20, 21)
    put(alpha, 20, "RETRYING")

    assert housekeeping.drop_old_days() == A_DAY

    assert name_of(20) in days_of("events")
    assert name_of(21) not in days_of("events")


def test_without_a_connection_for_it_nothing_is_dropped_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
):
    make_days(20)

    def refused(**_: object) -> Any:
        raise psycopg.OperationalError("sorry, too many clients already")

    monkeypatch.setattr(psycopg, "connect", refused)

    assert housekeeping.drop_old_days() == 0


def test_a_detachment_goes_on_although_the_retention_is_longer_by_now(alpha: Tenant, settings: Any):
    put(alpha, 13)
    mark(f"executions_{name_of(13)}", ledger.LEAVING)
    half_detach("executions", 13)
    settings.PUNCTUAL = replace(conf(), retention_days=15)

    assert housekeeping.drop_old_days() == 1

    # It would keep every other day from leaving. The rest of its own is young enough to stay.
    others = sorted(set(ledger.DAILY_TABLES) - {"executions"})
    assert tables_of(13) == [f"{table}_{name_of(13)}" for table in others]


def test_the_mark_of_a_day_that_stays_is_taken_back(alpha: Tenant):
    put(alpha, 20, "PENDING", held=True)
    table = f"executions_{name_of(20)}"
    mark(table, ledger.LEAVING)

    assert housekeeping.drop_old_days() == 0

    # So that it is not taken for a day that leaves when somebody detaches it.
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE ended_executions DETACH PARTITION {table}")
    housekeeping.drop_old_days()
    assert table in tables_of(20)


def test_whoever_reads_everything_keeps_the_days_and_others_do_so_beside_it():
    make_days(20)

    with psycopg.connect(**address()) as one, psycopg.connect(**address()) as other:
        retention.keep_days(one)
        retention.keep_days(other)
        assert housekeeping.drop_old_days() == 0
        assert name_of(20) in days_of()

    # The server ends a session a moment after the client has closed it.
    assert until(housekeeping.drop_old_days) == A_DAY


def test_whoever_reads_everything_waits_for_a_round_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(retention, "_FOR_A_ROUND", (50, 0))

    with (
        retention.turn(),
        psycopg.connect(**address()) as session,
        pytest.raises(Conflict, match="later"),
    ):
        retention.keep_days(session)
