from __future__ import annotations

import select
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg
import pytest
from django.db import connection, transaction

from executions.loop.clocks import database_now
from shared import notify
from shared.conf import conf
from shared.notify import (
    Listener,
    Wake,
    wake_schedulers_from,
    wake_schedulers_in,
    wake_schedulers_now,
    wake_schedulers_on_commit,
    wake_stage_on_commit,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


def hears(listener: Listener, seconds: float) -> bool:
    readable, _, _ = select.select([listener], [], [], seconds)
    return bool(readable) and listener.drain() is not None


def soon(seconds: float = 1.0) -> None:
    now = database_now()
    wake_schedulers_on_commit(now + timedelta(seconds=seconds), now)


def test_a_listener_hears_the_commit_of_work_that_is_due_soon(listener: Listener):
    soon()

    assert hears(listener, 5.0)
    assert listener.drain() is None


def test_nothing_is_sent_before_the_commit(listener: Listener):
    with transaction.atomic():
        soon()
        assert not hears(listener, 0.1)

    assert hears(listener, 5.0)


def test_nothing_is_sent_for_what_was_rolled_back(listener: Listener):
    with transaction.atomic():
        soon()
        transaction.set_rollback(True)

    assert not hears(listener, 0.1)


def test_nothing_is_sent_for_work_that_the_regular_look_finds_in_time(listener: Listener):
    soon(conf().scheduler_sleep_seconds + conf().release_seconds + 2.5)
    wake_schedulers_on_commit(None, database_now())

    assert not hears(listener, 0.1)


@pytest.mark.parametrize(
    ("due_in", "within"), [(-5.0, 0.0), (0.0, 0.0), (1.0, 0.0), (2.0, 0.25), (3.0, 0.5), (9.0, 0.5)]
)
def test_work_that_is_due_later_lets_schedulers_wait_for_more(
    listener: Listener, due_in: float, within: float
):
    wake_schedulers_in(due_in)

    assert select.select([listener], [], [], 5.0)[0]
    assert listener.drain() == (within, None, "")


def test_who_knows_when_the_first_comes_says_so(listener: Listener):
    now = database_now()
    first = now + timedelta(seconds=3)

    wake_schedulers_from(first, now)
    wake_schedulers_from(None, now)

    assert select.select([listener], [], [], 5.0)[0]
    assert listener.drain() == (0.5, first, "")


def test_of_several_wake_ups_the_first_counts_where_all_know_theirs():
    now = database_now()
    early, late = Wake(0.5, now), Wake(0.0, now + timedelta(seconds=1))

    assert early | late == late | early == (0.0, now, "")
    assert early | Wake(0.2) == Wake(0.2) | early == (0.2, None, "")


def test_a_wake_up_for_one_stage_says_which(listener: Listener):
    with transaction.atomic():
        wake_stage_on_commit("dispatch")
        assert not hears(listener, 0.1)

    assert select.select([listener], [], [], 5.0)[0]
    assert listener.drain() == (0.0, None, "dispatch")


def test_wake_ups_for_several_stages_are_for_all():
    one, other = Wake(0.0, None, "dispatch"), Wake(0.0, None, "workflows")

    assert one | one == one
    assert one | other == one | Wake(0.0) == (0.0, None, "")


def test_of_several_wake_ups_the_most_urgent_counts(listener: Listener):
    with transaction.atomic():
        wake_schedulers_in(9.0)
        wake_schedulers_in(0.0)

    heard: list[float] = []
    while 0.0 not in heard:
        assert select.select([listener], [], [], 5.0)[0]
        wake = listener.drain()
        assert wake is not None
        heard.append(wake.within)
    assert heard in ([0.0], [0.5, 0.0])


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "soon",
        "nan",
        "-1",
        "60",
        "0.1 soon",
        "0.1 2026-11-27",
        "60 2026-11-27T12:00:00+00:00",
        "0.1  rescue",
    ],
)
def test_a_wake_up_that_says_something_else_is_urgent(listener: Listener, payload: str):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('punctual_wake', %s)", [payload])

    assert select.select([listener], [], [], 5.0)[0]
    assert listener.drain() == (0.0, None, "")


def test_commits_that_meet_share_one_notification(monkeypatch: pytest.MonkeyPatch):
    sent: list[str] = []
    sending, go_on = threading.Event(), threading.Event()

    def slowly(path: str, parameters: dict[str, str]) -> int:
        sent.append(parameters["within"])
        sending.set()
        go_on.wait(5)
        return 0

    monkeypatch.setattr(notify, "run", slowly)
    first = threading.Thread(target=notify._send, args=(Wake(0.5),))
    first.start()
    assert sending.wait(5)
    others = [threading.Thread(target=notify._send, args=(Wake(n / 8),)) for n in range(1, 20)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join(5)
    go_on.set()
    first.join(5)

    # One was under way and one more says what came meanwhile.
    assert sent == ["0.500", "0.125"]


def test_a_wake_up_that_cannot_be_sent_does_not_fail_the_commit(
    monkeypatch: pytest.MonkeyPatch,
):
    def fail(path: str, parameters: dict[str, str]) -> int:
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr(notify, "run", fail)

    with transaction.atomic():
        soon()

    monkeypatch.undo()
    assert not notify._lock.locked()


def test_a_lost_session_is_noticed_and_not_waited_on_for_ever(
    listener: Listener, terminate: Callable[[int], None]
):
    terminate(listener._session.info.backend_pid)

    # The server's farewell may come first; the socket stays readable until it is understood.
    with pytest.raises(psycopg.Error):
        any(hears(listener, 5.0) for _ in range(3))


@pytest.fixture
def terminate() -> Callable[[int], None]:
    def end(pid: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])

    return end


def test_a_scheduler_that_stops_wakes_the_others(listener: Listener):
    wake_schedulers_now()

    assert hears(listener, 5.0)
