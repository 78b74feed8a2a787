from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

from insight import list_budget
from insight.list_budget import OutOfTime, TooWide, advice_for, read_list, until, within

pytestmark = pytest.mark.django_db


def ask(text: str) -> list:
    with connection.cursor() as cursor:
        cursor.execute(text)
        found: list = cursor.fetchall()
    return found


def test_a_statement_within_its_time_is_answered_and_the_limit_ends_with_it():
    [before] = ask("SHOW statement_timeout")

    [inside] = within(20, lambda: ask("SHOW statement_timeout"))

    assert inside == ("20ms",)
    assert ask("SHOW statement_timeout") == [before]


def test_a_statement_that_takes_longer_is_cancelled_and_refused_with_advice():
    with pytest.raises(OutOfTime):
        within(1, lambda: ask("SELECT count(*) FROM generate_series(1, 100000000)"))

    def cancelled() -> None:
        raise OperationalError from QueryCanceled()

    with pytest.raises(TooWide, match=r"over two seconds.*Add a term\.") as caught:
        read_list(cancelled, advice="Add a term.")
    assert caught.value.errors[0].pointer == "?filter"
    assert ask("SELECT 1") == [(1,)]


def test_no_reading_begins_after_the_time_and_none_takes_longer(monkeypatch):
    def cancelled() -> list:
        raise OperationalError from QueryCanceled()

    def limit() -> list:
        return ask("SHOW statement_timeout")

    [before] = limit()
    # The beginning, then before each read.
    seconds = iter([10.0, 10.0, 10.03, 10.06])
    monkeypatch.setattr(list_budget, "time", SimpleNamespace(monotonic=lambda: next(seconds)))

    assert until(50, [limit, limit, limit]) == [[("50ms",)]] * 2

    seconds = iter([10.0, 10.0, 10.0])
    assert until(50, [limit, cancelled, limit]) == [[("50ms",)]]
    assert limit() == [before]


def test_another_failure_of_the_database_stays_one():
    def broken() -> None:
        raise OperationalError

    with pytest.raises(OperationalError):
        within(1000, broken)


def test_the_advice_names_a_window_that_is_smaller():
    assert "scheduled:-24h" in advice_for(bounded=False)
    assert "scheduled:-1h" in advice_for(bounded=True)
