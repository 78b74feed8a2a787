from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import psycopg
import pytest
from django.db import IntegrityError, connection, transaction
from psycopg import Cursor

from events import outbox
from events.models import Event, EventCursor
from events.outbox import (
    OfTenants,
    Recorded,
    append,
    append_many,
    consume,
    consume_tally,
    lock_cursor,
)
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from shared.ids import moment_of, new_id
from shared.sql import statement

TENANT = new_id()


def read(consumer: str = "reader", limit: int = 100) -> list[str]:
    """Return the names of what the consumer has not had yet."""
    had: list[Recorded] = []
    count = consume(consumer, limit, had.extend)
    assert count == len(had)
    return [event.name for event in had]


def read_all(limit: int = 100) -> list[str]:
    """Return the names of what the consumer has not had yet, a batch once for each subject."""
    had: list[Recorded] = []
    consume("reader", limit, had.extend)
    return [event.name for event in had]


def write(*names: str) -> None:
    for name in names:
        append(TENANT, name, new_id())


@contextmanager
def session() -> Iterator[psycopg.Connection[Any]]:
    """Give a second session, whose transaction stays open until it is committed."""
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context"):
        parameters.pop(name, None)
    with psycopg.connect(**parameters) as beside:
        yield beside


def write_beside(beside: psycopg.Connection[Any], name: str) -> None:
    beside.execute(
        statement("outbox/append"),
        {"tenant": TENANT, "name": name, "subjects": [new_id()], "tasks": [None], "data": None},
    )


@pytest.fixture
def started(transactional_db: None) -> None:
    ledger.ensure_days_ahead(database_now())
    assert read() == []


@pytest.mark.django_db(transaction=True)
def test_a_new_consumer_begins_with_what_happens_from_now_on():
    ledger.ensure_days_ahead(database_now())
    write("before")

    assert read("late") == []
    write("after")
    assert read("late") == ["after"]


def test_every_event_comes_once_and_in_order(started: None):
    names = [f"event.{number}" for number in range(7)]
    write(*names)

    assert [read(limit=3), read(limit=3), read(limit=3)] == [names[:3], names[3:6], names[6:]]
    assert read() == []


def test_events_of_one_transaction_may_be_read_in_two_parts(started: None):
    with transaction.atomic():
        write("a", "b", "c")

    assert read(limit=2) == ["a", "b"]
    assert read(limit=2) == ["c"]


def write_batch(size: int, name: str = "execution.queued") -> list[tuple[UUID, UUID]]:
    """Write one row for so many executions; return them with their tasks, in order."""
    moved = [(new_id(), new_id()) for _ in range(size)]
    with connection.cursor() as cursor:
        # The database makes the id, as in all statements that write batches: they are in one order.
        cursor.execute(
            "INSERT INTO events (tenant_id, name, subjects, tasks) VALUES (%s, %s, %s, %s)",
            [TENANT, name, [subject for subject, _ in moved], [task for _, task in moved]],
        )
    return moved


def test_a_batch_comes_as_an_event_of_each_of_its_subjects(started: None):
    write("before")
    moved = write_batch(3)
    write("after")
    had: list[Recorded] = []

    assert consume("reader", 10, had.extend) == 3

    assert [event.name for event in had] == ["before", *["execution.queued"] * 3, "after"]
    assert [(event.subject_id, event.task_id) for event in had[1:4]] == moved
    assert [event.place for event in had] == [0, 0, 1, 2, 0]
    assert len({event.id for event in had[1:4]}) == 1


def test_a_batch_and_single_events_of_one_transaction_are_in_one_order(started: None):
    had: list[Recorded] = []
    with transaction.atomic():
        write("first")
        moved = write_batch(2)
        write("last")

    while consume("reader", 1, had.extend):
        pass

    assert [event.name for event in had] == ["first", *["execution.queued"] * 2, "last"]
    assert [event.subject_id for event in had[1:3]] == [subject for subject, _ in moved]
    keys = [(event.id, event.place) for event in had]
    assert keys == sorted(keys)


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_a_limit_within_a_batch_neither_skips_nor_repeats_a_subject(started: None, limit: int):
    moved = write_batch(3) + write_batch(2)
    single = new_id()
    append(TENANT, "execution.failed", single)
    moved += write_batch(4)
    had: list[Recorded] = []

    while consume("reader", limit, had.extend):
        pass

    wanted = [subject for subject, _ in moved]
    assert [event.subject_id for event in had] == [*wanted[:5], single, *wanted[5:]]


def test_a_batch_that_a_handler_fails_on_comes_again_whole(started: None):
    write("before")
    moved = write_batch(3)
    seen: list[UUID] = []

    def stop_within_the_batch(events: list[Recorded]) -> None:
        for event in events:
            seen.append(event.subject_id)
            if event.subject_id == moved[1][0]:
                raise RuntimeError("no")

    assert read(limit=1) == ["before"]
    with pytest.raises(RuntimeError):
        consume("reader", 1, stop_within_the_batch)
    had: list[Recorded] = []
    consume("reader", 1, had.extend)

    assert seen == [subject for subject, _ in moved[:2]]
    assert [event.subject_id for event in had] == [subject for subject, _ in moved]
    assert read() == []


def test_a_batch_that_commits_late_is_not_skipped(started: None):
    moved = [new_id(), new_id()]
    with session() as beside:
        beside.execute(
            "INSERT INTO events (tenant_id, name, subjects, tasks)"
            " VALUES (%s, 'execution.queued', %s, %s)",
            [TENANT, moved, moved],
        )
        write("quick")
        assert read() == []
        beside.commit()

    assert read_all() == ["execution.queued", "execution.queued", "quick"]


def test_batches_of_other_names_are_passed_and_those_asked_for_are_expanded(started: None):
    write_batch(2, "execution.queued")
    moved = write_batch(3, "execution.succeeded")
    write("execution.failed")
    had: list[Recorded] = []

    count = consume("reader", 10, had.extend, names=["execution.succeeded", "execution.failed"])

    assert count == 3
    assert [event.subject_id for event in had[:3]] == [subject for subject, _ in moved]
    assert [event.name for event in had] == [*["execution.succeeded"] * 3, "execution.failed"]


def test_a_tally_counts_a_batch_as_one_row(started: None):
    write_batch(5)
    write("execution.failed")
    tallies: list[Any] = []

    assert consume_tally("reader", 10, tallies.append) == 2
    assert tallies == [{(TENANT, "execution.queued"): 1, (TENANT, "execution.failed"): 1}]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"subjects": []},
        {"subjects": [TENANT]},
        {"subjects": [TENANT], "tasks": []},
        {"subjects": [TENANT, TENANT], "tasks": [TENANT]},
        {"subject_id": TENANT, "subjects": [TENANT], "tasks": [TENANT]},
        {"task_id": TENANT, "subjects": [TENANT], "tasks": [TENANT]},
        {"subject_id": TENANT, "tasks": [TENANT]},
    ],
)
def test_a_row_names_one_subject_or_a_batch_with_its_tasks(fields: dict[str, Any]):
    ledger.ensure_days_ahead(database_now())

    with pytest.raises(IntegrityError, match="event_has_one_subject_or_a_batch"):
        Event.objects.create(id=new_id(), tenant_id=TENANT, name="execution.queued", **fields)


@pytest.mark.django_db
def test_days_keep_the_arrays_of_batches_uncompressed():
    days = ledger.ensure_days_ahead(database_now())
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT a.attstorage::text FROM pg_inherits i"
            " JOIN pg_attribute a ON a.attrelid = i.inhrelid"
            " WHERE i.inhparent = 'events'::regclass AND a.attname IN ('subjects', 'tasks')"
        )
        assert cursor.fetchall() == [("e",)], days


def test_only_the_names_asked_for_are_handed_over_and_all_are_passed(started: None):
    write("a", "b", "c", "a", "b", "c", "c")
    had: list[Recorded] = []

    counts = [consume("reader", 3, had.extend, names=["a", "b"]) for _ in range(4)]

    assert counts == [3, 3, 1, 0]
    assert [event.name for event in had] == ["a", "b", "a", "b"]
    assert read() == []


def test_some_names_are_handed_over_of_some_tenants_only(started: None):
    mine, other = new_id(), new_id()
    append(mine, "b", new_id())
    append(other, "b", new_id())
    append(other, "a", new_id())
    write_batch(3, "b")
    had: list[Recorded] = []

    count = consume(
        "reader", 10, had.extend, names=["a"], besides=OfTenants(("b",), lambda: {mine})
    )

    assert count == 4
    assert [(event.tenant_id, event.name) for event in had] == [(mine, "b"), (other, "a")]


def test_a_cursor_is_locked_by_one_at_a_time(started: None):
    write("a")
    with session() as beside:
        beside.execute(statement("outbox/lock_place"), {"consumer": "reader"})
        with transaction.atomic():
            assert not lock_cursor("reader")
        assert consume("reader", 1, lambda events: None) == 0

    with transaction.atomic():
        assert lock_cursor("reader")


def test_a_tally_counts_each_event_once(started: None):
    other = new_id()
    write("a", "a", "b", "a")
    append(other, "a", new_id())
    tallies: list[Any] = []

    counts = [consume_tally("reader", 3, tallies.append) for _ in range(3)]

    assert counts == [3, 2, 0]
    assert tallies == [
        {(TENANT, "a"): 2, (TENANT, "b"): 1},
        {(TENANT, "a"): 1, (other, "a"): 1},
    ]


def test_an_event_carries_what_it_was_appended_with(started: None):
    subject, task = new_id(), new_id()
    append(TENANT, "task.changed", subject, task, {"verb": "paused", "count": 3})
    had: list[Recorded] = []

    consume("reader", 10, had.extend)

    (event,) = had
    assert (event.tenant_id, event.name) == (TENANT, "task.changed")
    assert (event.subject_id, event.task_id) == (subject, task)
    assert event.data == {"verb": "paused", "count": 3}
    assert isinstance(event.id, UUID)
    assert event.at <= database_now()


def test_many_events_are_appended_in_one_statement(started: None, django_assert_num_queries: Any):
    subjects = [(new_id(), None) for _ in range(50)]

    with django_assert_num_queries(1):
        append_many(TENANT, "task.changed", subjects)
    append_many(TENANT, "task.changed", [])

    assert len(read()) == 50


def test_ids_of_events_are_in_the_order_that_they_were_given_in(started: None):
    subjects = [new_id() for _ in range(50)]
    with transaction.atomic():
        append_many(TENANT, "task.changed", [(subject, None) for subject in subjects[:30]])
        append_many(TENANT, "task.changed", [(subject, None) for subject in subjects[30:]])
    had: list[Recorded] = []

    consume("reader", 100, had.extend)

    assert [event.subject_id for event in had] == subjects
    assert [event.id for event in had] == sorted(event.id for event in had)
    assert {event.id.version for event in had} == {7}
    assert abs(moment_of(had[0].id) - had[0].at) < timedelta(minutes=1)


def test_a_transaction_that_commits_late_is_not_skipped(started: None):
    with session() as beside:
        write_beside(beside, "late")
        write("quick")

        # The quick one waits: whoever passed it could not come back for the late one.
        assert read() == []
        beside.commit()

    assert read() == ["late", "quick"]


def test_a_late_transaction_may_write_after_others_were_read(started: None):
    write("first")
    with session() as beside:
        write_beside(beside, "late")
        assert read() == ["first"]
        write("second")
        write_beside(beside, "later")
        assert read() == []
        beside.commit()

    assert read() == ["late", "later", "second"]
    assert read() == []


def test_an_event_that_is_rolled_back_never_comes(started: None):
    with session() as beside:
        write_beside(beside, "undone")
        beside.rollback()
    write("kept")

    assert read() == ["kept"]


def test_what_a_handler_fails_on_comes_again(started: None):
    write("one")

    def refuse(events: list[Recorded]) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        consume("reader", 10, refuse)

    assert read() == ["one"]


def test_consumers_do_not_disturb_each_other(started: None):
    assert read("other") == []
    write("one")

    assert read() == ["one"]
    assert read("other") == ["one"]


def test_two_processes_do_not_read_as_the_same_consumer_at_once(started: None):
    write("one")
    with session() as beside:
        beside.execute("SELECT 1 FROM event_cursors WHERE consumer = 'reader' FOR UPDATE")
        assert read() == []

    assert read() == ["one"]


def test_an_idle_consumer_writes_nothing(started: None, django_assert_num_queries: Any):
    place = EventCursor.objects.get(consumer="reader")

    with django_assert_num_queries(2):
        assert read() == []

    assert EventCursor.objects.get(consumer="reader").read_at == place.read_at


def test_a_consumer_that_was_idle_for_long_notes_it(started: None):
    old = database_now() - timedelta(days=30)
    EventCursor.objects.update(read_at=old)

    assert read() == []

    assert EventCursor.objects.get().read_at > old + timedelta(days=29)


def test_a_cursor_of_another_server_is_restarted(started: None, caplog: Any):
    EventCursor.objects.update(xid=2**62)
    write("one")

    with caplog.at_level(logging.WARNING):
        read()
    write("two")

    assert "event_cursor.restarted" in caplog.text
    assert read() == ["two"]


def test_a_day_that_was_dropped_is_passed_over(started: None):
    old = database_now() - timedelta(days=100)
    ledger.make_days([old])
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE events_{old:%Y%m%d}")
    EventCursor.objects.update(read_at=old, xid=3)
    write("one")

    assert read()[-1:] == ["one"]


def test_a_missing_day_does_not_refuse_a_change(
    started: None, monkeypatch: pytest.MonkeyPatch, caplog: Any
):
    append_nowhere = statement("outbox/append").replace("'events_'", "'no_such_events_'")
    monkeypatch.setattr(outbox, "run", lambda _, parameters: _execute(append_nowhere, parameters))

    append(TENANT, "task.changed", new_id())

    assert "events.lost" in caplog.text
    assert read() == []


def _execute(text: str, parameters: dict[str, Any]) -> int:
    with Cursor(connection.connection) as cursor:
        cursor.execute(text, parameters)
        return int(cursor.rowcount)


@pytest.mark.django_db
def test_few_days_are_touched_whatever_the_number_of_days():
    now = database_now()
    ledger.make_days(now - ago * timedelta(days=1) for ago in range(60))
    assert read() == []
    # Of an empty day the planner may take any index.
    append_many(TENANT, "task.changed", [(new_id(), None)] * 200)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE events")
    plans: dict[str, str] = {}

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        for name in ("outbox/read", "outbox/has_news"):
            if sql == statement(name):
                with context["connection"].connection.cursor() as cursor:
                    # Of tables as small as a test's, the planner would read every page.
                    cursor.execute("SET LOCAL enable_seqscan = off")
                    cursor.execute("EXPLAIN (FORMAT JSON) " + sql, params)
                    plans[name] = orjson.dumps(cursor.fetchone()[0]).decode()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        read()
        EventCursor.objects.update(read_at=now - timedelta(hours=2))
        read()

    assert set(plans) == {"outbox/read", "outbox/has_news"}
    for plan in plans.values():
        assert "xid_id_idx" in plan
        assert "Seq Scan" not in plan
        assert plan.count("Relation Name") <= 4
