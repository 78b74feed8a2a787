from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from events.models import Event
from executions.ledger.archive.reading import Chosen, read_day
from executions.ledger.archive.writing import Source, columns_of, write_table
from executions.ledger.retention import Session, turn
from executions.models import Attempt, Execution
from shared.ids import new_id
from shared.instants import format_instant
from tests.executions.old_days import ago, forget, name_of, put
from tests.factories import make_tenant

pytestmark = pytest.mark.django_db(transaction=True)

DAY = "2026-01-05"


@pytest.fixture
def session(transactional_db: None) -> Iterator[Session]:
    forget()
    with turn() as found:
        assert found is not None
        yield found
    forget()


def source(parent: str) -> Source:
    return Source(f"{parent}_{name_of(20)}", parent, DAY)


def test_what_is_read_is_what_was_written(session: Session, tmp_path: Path):
    strange = 'a "quoted", comma\r\nline \\N \\. ä 日本\t\x01'
    first = put(make_tenant(), 20, error_message=strange, error_code="", start_delay_ms=0.1)
    put(make_tenant("Beta"), 20, status="FAILED", sealed_payload=b'\x00"\n\xff', worker="w")

    part = write_table(session, tmp_path, source("executions"), final=True)
    rows = {row["id"]: row for row in read_day(tmp_path, "executions", DAY)}

    assert part.rows == len(rows) == 2
    for execution in Execution.objects.filter(id__in=list(rows)):
        row = rows[str(execution.id)]
        assert set(row) == {field.column for field in Execution._meta.concrete_fields}
        for field in Execution._meta.concrete_fields:
            expected = _as_json(getattr(execution, field.attname))
            assert row[str(field.column)] == expected, field.column
    found = rows[str(first.id)]
    assert (found["error_message"], found["error_code"]) == (strange, "")
    assert found["sealed_payload"] is None


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return "\\x" + bytes(value).hex()
    if hasattr(value, "astimezone"):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def test_attempts_and_events_keep_their_documents(session: Session, tmp_path: Path):
    execution = put(make_tenant(), 20)
    for parent in ("attempts", "events"):
        write_table(session, tmp_path, source(parent), final=True)

    (attempt,) = read_day(tmp_path, "attempts", DAY)
    (event,) = read_day(tmp_path, "events", DAY)

    assert attempt["timings"] == {"total": 12.5}
    assert attempt["sealed_response"] == "\\x" + b"\x00\xff sealed".hex()
    assert attempt["id"] == str(Attempt.objects.get(execution_id=execution.id).id)
    assert event["data"] == {"reason": 'a "quoted"\nword', "n": 1.5}
    assert (event["subject_id"], event["name"]) == (str(execution.id), "execution.succeeded")
    assert isinstance(event["xid"], int)


def test_a_batch_of_events_keeps_its_executions(session: Session, tmp_path: Path):
    execution = put(make_tenant(), 20)
    others = [new_id() for _ in range(300)]
    Event.objects.create(
        id=UUID(int=execution.id.int ^ 1),
        tenant_id=execution.tenant_id,
        name="execution.queued",
        subjects=[*others, execution.id],
        tasks=[*others, execution.task_id],
    )

    write_table(session, tmp_path, source("events"), final=True)

    batch = next(row for row in read_day(tmp_path, "events", DAY) if row["subject_id"] is None)
    assert batch["subjects"] == [*map(str, others), str(execution.id)]
    assert batch["tasks"] == [*map(str, others), str(execution.task_id)]
    for chosen in (
        Chosen(execution=str(execution.id)),
        Chosen(task=str(execution.task_id)),
        Chosen(task=str(execution.task_id), execution=str(execution.id)),
    ):
        found = list(read_day(tmp_path, "events", DAY, chosen))
        assert {row["name"] for row in found} == {"execution.queued", "execution.succeeded"}
        assert [row["subject_id"] for row in found] == [str(execution.id)] * 2
        assert [row["task_id"] for row in found] == [str(execution.task_id)] * 2
    assert len(list(read_day(tmp_path, "events", DAY, Chosen(execution=str(others[0]))))) == 1


def test_rows_stand_in_the_order_of_their_ids(session: Session, tmp_path: Path):
    tenant = make_tenant()
    ids = sorted(str(put(tenant, 20).id) for _ in range(5))

    write_table(session, tmp_path, source("executions"), final=True)

    assert [row["id"] for row in read_day(tmp_path, "executions", DAY)] == ids


def test_the_manifest_says_what_it_was_written_by(session: Session, tmp_path: Path):
    put(make_tenant(), 20)
    facts = write_table(session, tmp_path, source("executions"), final=False).facts

    assert facts.columns == columns_of(session, "executions")
    assert facts.columns["scheduled_for"] == "timestamp with time zone"
    assert set(facts.schema) == {"executions", "events"}
    assert facts.schema["executions"] >= "0007"
    assert not facts.final
    assert facts.written_at[:10] == format_instant(ago(0))[:10]


def test_defaults_of_the_server_change_nothing(session: Session, tmp_path: Path):
    put(make_tenant(), 20, sealed_payload=b"x")
    part = write_table(session, tmp_path, source("executions"), final=True)
    session.execute("SET datestyle = 'German'")
    session.execute("SET bytea_output = 'escape'")
    session.execute("SET timezone = 'Asia/Tokyo'")
    session.execute("SET extra_float_digits = -3")

    assert write_table(session, tmp_path, source("executions"), final=True) == part


def test_postgresql_reads_it_by_itself(session: Session, tmp_path: Path):
    put(make_tenant(), 20, error_message="", sealed_payload=b"\x00")
    part = write_table(session, tmp_path, source("executions"), final=True)
    name = f"executions_{name_of(20)}"
    before = session.execute(f"SELECT * FROM {name}").fetchall()

    session.execute(f"CREATE TEMPORARY TABLE again (LIKE {name})")
    with session.cursor() as cursor, cursor.copy("COPY again FROM STDIN (FORMAT csv, HEADER)") as c:
        c.write(gzip.decompress(part.path(tmp_path).read_bytes()))

    assert session.execute("SELECT * FROM again").fetchall() == before
