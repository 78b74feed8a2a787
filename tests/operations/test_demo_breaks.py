"""A break at the terminal: each moment is told once, until it is over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.demo.breaks import Kind
from executions.loop.clocks import database_now
from operations import demo_breaks
from shared.exceptions import NotFound
from tests.support.demo import note_break, start_demo
from tests.support.ended_rows import ended

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(monkeypatch, settings):
    return start_demo(monkeypatch, settings)


def test_a_break_is_followed_to_its_end(demo):
    tenant, up = demo
    first = database_now().replace(microsecond=0) - timedelta(seconds=30)
    tasks = note_break(tenant, Kind.WORKER, first)
    up.struck(first + timedelta(seconds=1))
    told: list[str] = []
    waits: list[float] = []

    def wait(seconds: float) -> None:
        """Let the work end while it is waited for, at the second look."""
        waits.append(seconds)
        if len(waits) == 2:
            runs = [ended(task, first + timedelta(seconds=n)) for n in range(2) for task in tasks]
            up.arrived(*[(run.id, 1, 1, 1) for run in runs])

    found = demo_breaks.follow(tenant.id, told.append, wait)

    assert (len(waits), found.phase, found.kept) == (2, "over", True)
    assert told == [
        "   -1.0 s  2 pulses begin to fire every second",
        "   +0.0 s  worker-1 (pid 41) was killed",
        "   +0.0 s  4 of 4 instants have ended",
    ]
    shown = "\n".join(demo_breaks.lines(found))
    assert shown.startswith("A worker is killed: Nothing lost, nothing doubled: 4 of 4")
    assert "attempts that arrived twice" in shown


def test_before_the_first_break_there_is_nothing_to_follow(demo):
    with pytest.raises(NotFound, match="demo break"):
        demo_breaks.current(demo[0].id)
