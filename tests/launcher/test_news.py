from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from launcher import news
from launcher.news import News
from shared.loop import Stage
from tests.support.waiting import until


class Counted:
    """A stage that counts its calls."""

    def __init__(self, name: str, wait: float = 3600.0) -> None:
        self.name = name
        self.calls = 0
        self._wait = wait

    def run_once(self) -> float:
        self.calls += 1
        return self._wait

    def stage(self) -> Stage:
        return Stage(self.name, self.run_once)


@pytest.fixture
def live() -> Counted:
    return Counted("live")


@pytest.fixture
def running(live: Counted) -> Iterator[News]:
    made = News(lambda: [live.stage()])
    made.start()
    until(lambda: live.calls == 1)
    yield made
    made.stop()


def test_a_commit_hurries_it(running: News, live: Counted):
    running.hurry()

    until(lambda: live.calls == 2)


def test_it_ends_when_it_is_stopped(running: News):
    running.stop()

    assert not running._thread.is_alive()


def test_a_stage_that_fails_does_not_end_the_others(live: Counted):
    def fail() -> float:
        raise RuntimeError("no")

    often = Counted("alert", 0.0)
    made = News(lambda: [Stage("live", fail), often.stage()])
    made.start()
    until(lambda: often.calls > 2)
    made.stop()


def test_a_stage_that_hangs_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(news, "_STOP_SECONDS", 0.05)
    begun, free = threading.Event(), threading.Event()

    def hang() -> float:
        begun.set()
        free.wait(30)
        return 1.0

    made = News(lambda: [Stage("live", hang)])
    made.start()
    assert begun.wait(10)
    made.stop()
    free.set()
    made._thread.join(10)

    assert "news.left_running" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_it_has_a_connection_of_its_own_and_closes_it():
    pids: list[int] = []

    def look() -> float:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pids.append(cursor.fetchone()[0])
        return 3600.0

    made = News(lambda: [Stage("live", look)])
    made.start()
    until(lambda: pids)
    made.stop()

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        assert cursor.fetchone()[0] != pids[0]
    until(lambda: not _is_there(pids[0]))


def _is_there(pid: int) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [pid])
        return cursor.fetchone()[0]


def test_the_stages_are_those_that_follow_from_events_and_from_time():
    names = [stage.name for stage in news.stages()]

    assert names == ["live", "alert", "deliveries", "event_webhooks", "bulk", "time", "budgets"]
