from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction

from events.models import AuditChain
from shared.sql import (
    at_last,
    composed,
    json_value,
    load,
    rows,
    run,
    sent_with_commit,
    statement,
    together,
)


def test_a_statement_is_found_by_file_and_name():
    assert statement("leases/database_time").endswith("SELECT clock_timestamp()")


@pytest.mark.parametrize("path", ["leases/nothing", "leases", ""])
def test_a_statement_that_is_not_there_is_an_error(path: str):
    with pytest.raises((KeyError, FileNotFoundError)):
        statement(path)


def test_a_file_gives_each_of_its_statements():
    file = Path(__file__).parents[2] / "executions" / "sql" / "rescue.sql"

    found = load("rescue")

    assert set(found) == set(re.findall("^-- name: (.*)$", file.read_text(), re.MULTILINE))
    assert all("-- name:" not in text for text in found.values())


def test_no_statement_is_sent_with_a_part_missing():
    for stage in ("complete", "dispatch"):
        assert all("-- parts:" not in text for text in load(stage).values())


def test_a_statement_has_the_named_parts_in_its_place():
    text = (
        "-- part: one\n-- Ones.\na AS (SELECT 1)\n\n-- part: two\n-- Twos.\nb AS (SELECT 2)\n\n"
        "-- name: sum\n-- Adds.\nWITH -- parts: one, two\nc AS (SELECT 3)\nTABLE c\n"
    )

    assert composed(text) == {
        "sum": "-- Adds.\nWITH -- Ones.\na AS (SELECT 1),\n-- Twos.\nb AS (SELECT 2),\n"
        "c AS (SELECT 3)\nTABLE c"
    }


def test_parts_may_be_all_that_a_statement_selects_from():
    text = (
        "-- part: one\n-- Ones.\na AS (SELECT 1)\n\n"
        "-- name: sum\n-- Adds.\nWITH -- parts: one\nSELECT * FROM a\n"
    )

    assert composed(text) == {"sum": "-- Adds.\nWITH -- Ones.\na AS (SELECT 1)\nSELECT * FROM a"}


def test_a_part_that_is_not_in_the_file_is_an_error():
    with pytest.raises(KeyError, match="other"):
        composed("-- name: sum\n-- Adds.\nWITH -- parts: other\nc AS (SELECT 3)\nTABLE c\n")


@pytest.mark.parametrize(
    ("stored", "value"),
    [('{"a": 1}', {"a": 1}), (b"[1]", [1]), ({"a": 1}, {"a": 1}), (None, None)],
)
def test_json_comes_out_whether_it_came_as_text_or_not(stored: object, value: object):
    assert json_value(stored) == value


@pytest.mark.django_db
def test_rows_answers_rows_and_run_their_number():
    assert len(rows("leases/database_time")) == 1
    assert run("leases/release", {"node": None, "partitions": [], "epochs": []}) == 0


TENANT = UUID("0199b6f0-0000-7000-8000-000000000001")
OTHER = UUID("0199b6f0-0000-7000-8000-000000000002")
START = {"tenant": TENANT, "hash": bytes(range(256))}
BEGIN = ("audit/begin_chain", START)
NOW: tuple[str, dict[str, Any]] = ("leases/database_time", {})


def begun_chains() -> list[tuple[int, bytes]]:
    found = AuditChain.objects.filter(tenant_id=TENANT).values_list("sequence", "hash")
    return [(sequence, bytes(made)) for sequence, made in found]


@pytest.mark.django_db
def test_what_is_bound_arrives_as_it_is():
    assert run("audit/begin_chain", START) == 1
    assert run("audit/begin_chain", START) == 0

    assert begun_chains() == [(0, START["hash"])]


@pytest.mark.django_db
def test_an_error_of_the_server_is_the_frameworks():
    with pytest.raises(IntegrityError), transaction.atomic():
        run("audit/begin_chain", {**START, "hash": None})


@pytest.mark.django_db
def test_a_bound_statement_is_counted_as_any_other(django_assert_num_queries: Any):
    with django_assert_num_queries(1):
        run("audit/begin_chain", START)


@pytest.mark.django_db
def test_something_else_is_done_while_the_database_works():
    done: list[Any] = []

    [clock] = together(NOW, meanwhile=lambda: done.append("between"))

    assert len(clock.rows) == 1
    assert done == ["between"]


@pytest.mark.django_db
def test_what_is_done_meanwhile_may_ask_the_database():
    asked: list[Any] = []

    [clock] = together(NOW, meanwhile=lambda: asked.extend(rows(*NOW)))

    assert asked >= clock.rows


@pytest.mark.django_db
def test_who_asks_meanwhile_gets_the_error_of_the_statement():
    wrong = {"tenant": None, "hash": b""}

    with pytest.raises(IntegrityError), transaction.atomic():
        together(("audit/begin_chain", wrong), meanwhile=lambda: rows(*NOW))

    assert rows(*NOW)


@pytest.mark.django_db
def test_statements_that_go_together_see_each_other():
    begun, clock, again = together(("audit/begin_chain", START), NOW, ("audit/begin_chain", START))

    assert (begun.rows, begun.number) == ([], 1)
    assert (len(clock.rows), clock.number) == (1, 1)
    assert again.number == 0


@pytest.mark.django_db
def test_the_error_of_one_ends_those_that_go_with_it():
    wrong = ("audit/begin_chain", {**START, "tenant": OTHER, "hash": None})

    with pytest.raises(IntegrityError), transaction.atomic():
        together(("audit/begin_chain", START), wrong, NOW)

    assert begun_chains() == []


@pytest.mark.django_db
def test_each_that_goes_together_is_counted(django_assert_num_queries: Any):
    with django_assert_num_queries(2):
        together(NOW, NOW)


@pytest.mark.django_db(transaction=True)
def test_a_last_statement_is_committed_with_what_came_before():
    with sent_with_commit() as run_last:
        run("audit/begin_chain", {**START, "tenant": OTHER})
        run_last("audit/begin_chain", START)

    assert begun_chains() == [(0, START["hash"])]
    assert AuditChain.objects.filter(tenant_id=OTHER).exists()
    assert connection.get_autocommit()


#: More than goes into a socket at once, several times.
LONG = bytes(8 * 1024 * 1024)


@pytest.mark.django_db(transaction=True)
def test_a_long_last_statement_is_sent_whole():
    with sent_with_commit() as run_last:
        run_last("audit/begin_chain", {**START, "hash": LONG})

    assert begun_chains() == [(0, LONG)]


@pytest.mark.django_db(transaction=True)
def test_a_last_statement_that_fails_undoes_what_came_before():
    def change() -> None:
        with sent_with_commit() as run_last:
            run("audit/begin_chain", START)
            run_last("audit/begin_chain", {**START, "tenant": OTHER, "hash": None})

    with pytest.raises(IntegrityError):
        change()

    assert begun_chains() == []
    assert run("audit/begin_chain", START) == 1  # and the session goes on


@pytest.mark.django_db(transaction=True)
def test_a_transaction_without_a_last_statement_ends_as_ever():
    with sent_with_commit():
        run("audit/begin_chain", START)

    assert begun_chains() == [(0, START["hash"])]


@pytest.mark.django_db(transaction=True)
def test_what_is_held_back_is_run_with_the_commit():
    done: list[Any] = []

    with sent_with_commit() as run_last:
        at_last(BEGIN, NOW, then=done.extend)
        run_last("audit/begin_chain", {**START, "tenant": OTHER})
        seen = begun_chains()

    assert seen == []
    assert begun_chains() == [(0, START["hash"])]
    assert [one.number for one in done] == [1, 1]
    assert len(done[1].rows) == 1
    assert AuditChain.objects.filter(tenant_id=OTHER).exists()


@pytest.mark.django_db(transaction=True)
def test_what_is_held_back_needs_no_other_last_statement():
    with sent_with_commit():
        at_last(BEGIN, then=lambda done: None)

    assert begun_chains() == [(0, START["hash"])]


@pytest.mark.django_db(transaction=True)
def test_what_is_held_back_is_not_run_where_all_is_undone():
    done: list[Any] = []

    def fail() -> None:
        with sent_with_commit():
            at_last(BEGIN, then=done.extend)
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    with sent_with_commit():
        at_last(BEGIN, then=done.extend)
        transaction.set_rollback(True)

    assert begun_chains() == []
    assert done == []


@pytest.mark.django_db(transaction=True)
def test_what_is_held_back_undoes_all_when_it_fails():
    done: list[Any] = []

    def change() -> None:
        with sent_with_commit():
            run(*BEGIN)
            wrong = ("audit/begin_chain", {**START, "tenant": OTHER, "hash": None})
            at_last(wrong, then=done.extend)

    with pytest.raises(IntegrityError):
        change()

    assert begun_chains() == []
    assert done == []


@pytest.mark.django_db(transaction=True)
def test_what_may_be_undone_alone_is_not_held_back():
    with sent_with_commit():
        with transaction.atomic():
            at_last(BEGIN, then=lambda done: None)
            assert begun_chains() == [(0, START["hash"])]
            transaction.set_rollback(True)
        with transaction.atomic(savepoint=False):
            at_last(("audit/begin_chain", {**START, "tenant": OTHER}), then=lambda done: None)

    assert begun_chains() == []
    assert AuditChain.objects.filter(tenant_id=OTHER).exists()


@pytest.mark.django_db(transaction=True)
def test_nothing_is_held_back_outside_such_a_transaction():
    done: list[Any] = []

    at_last(BEGIN, then=done.extend)
    with sent_with_commit():
        run(*NOW)
        transaction.on_commit(lambda: at_last(NOW, then=done.extend))

    assert [one.number for one in done] == [1, 1]
