"""The scheduler class inside Celery beat: what it runs, what wakes it and how it stops."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace

import psycopg
import pytest
from django.db import OperationalError
from django_celery_beat.schedulers import DatabaseScheduler

from executions import beat as beat_module
from executions.beat import PunctualScheduler
from executions.broker import AT_ONCE, CHECK_ZONES
from executions.ledger import totals
from executions.loop import lower_bounds
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.models import Execution, PartitionLease, UnownedStretch
from scheduler_site.celery import app
from shared.notify import wake_schedulers_now, wake_stage_on_commit
from tenants.models import Tenant
from tests.factories import WORKER, every_second, make_task, once
from tests.support.beats import beat

# Committing: the listener hears commits only, and a failing stage drops every connection.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scheduler() -> Iterator[PunctualScheduler]:
    usual = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    made = PunctualScheduler(app=app)
    yield made
    if made._listener:
        made._listener.close()
    os.close(made._wake_read)
    os.close(made._wake_write)
    for number, handler in usual.items():
        signal.signal(number, handler)


def owned() -> int:
    return PartitionLease.objects.exclude(owner=None).count()


def tick(scheduler: PunctualScheduler) -> float:
    """Tick once without waiting for time to pass: a byte in the pipe is a wake-up."""
    os.write(scheduler._wake_write, b"x")
    return scheduler.tick()


def test_a_tick_takes_partitions_and_lets_beat_call_again_at_once(
    scheduler: PunctualScheduler,
) -> None:
    assert tick(scheduler) == 0.0

    assert owned() == len(scheduler.partitions.held) == 256


def test_the_lease_is_renewed_between_any_two_stages_that_take_long(
    scheduler: PunctualScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def note(name: str, wait: float) -> Callable[[], float]:
        def run_once() -> float:
            ran.append(name)
            return wait

        return run_once

    # As if each had taken as long as the lease may wait for its renewal.
    monkeypatch.setattr(scheduler.partitions, "run_once", note("renewed", 0.0))
    for stage in scheduler._agenda._stages:
        if stage.name != "partitions":
            stage.run_once = note(stage.name, 10.0)

    tick(scheduler)

    others = [name for name in ran if name != "renewed"]
    assert len(others) == len(scheduler._agenda._stages) - 1
    assert [ran[ran.index(name) + 1] for name in others] == ["renewed"] * len(others)


def test_a_stop_is_a_flag_until_the_next_tick_then_releases_everything(
    scheduler: PunctualScheduler,
) -> None:
    tick(scheduler)
    scheduler._take_signals()

    os.kill(os.getpid(), signal.SIGTERM)
    # Nothing was interrupted; the wait that follows ends at once.
    assert owned() == 256
    assert select.select([scheduler._wake_read], [], [], 0)[0]
    with pytest.raises(SystemExit) as ending:
        scheduler.tick()

    assert (ending.value.code, owned()) == (0, 0)


def test_a_second_signal_ends_it_at_once(scheduler: PunctualScheduler) -> None:
    scheduler._ask_to_stop(signal.SIGTERM, None)

    with pytest.raises(SystemExit) as ending:
        scheduler._ask_to_stop(signal.SIGTERM, None)

    assert ending.value.code == 128 + signal.SIGTERM


@pytest.mark.logs("partitions.not_released", reason="away")
def test_it_stops_without_a_database_too(
    scheduler: PunctualScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise OperationalError("away")

    monkeypatch.setattr(scheduler.partitions, "release_all", away)
    scheduler._ask_to_stop(signal.SIGTERM, None)

    with pytest.raises(SystemExit) as ending:
        scheduler.tick()

    assert ending.value.code == 0


@pytest.mark.parametrize("held", [True, False])
def test_only_the_holder_of_the_first_partition_fires_the_housekeeping_entries(
    scheduler: PunctualScheduler, monkeypatch: pytest.MonkeyPatch, held: bool
) -> None:
    fired: list[int] = []
    monkeypatch.setattr(DatabaseScheduler, "tick", lambda self: fired.append(1))
    tick(scheduler)
    fired.clear()
    if not held:
        scheduler.partitions.release_all()

    scheduler._housekeeping()

    assert bool(fired) == held


@pytest.mark.parametrize("held", [True, False])
def test_only_the_holder_of_the_first_partition_folds_totals_until_few_are_left(
    scheduler: PunctualScheduler, monkeypatch: pytest.MonkeyPatch, held: bool
) -> None:
    folded = [totals.MOST_FOLDED, 7]
    monkeypatch.setattr(totals, "fold", lambda: folded.pop(0))
    scheduler.partitions.run_once()
    if not held:
        scheduler.partitions.release_all()

    waits = [scheduler._totals(), scheduler._totals()]

    assert [wait == 0.0 for wait in waits] == [held, False]
    assert len(folded) == (0 if held else 2)


def test_the_zone_database_is_asked_about_once_after_the_start(
    scheduler: PunctualScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("executions.beat.publish_system_job", asked.append)

    tick(scheduler)
    scheduler._housekeeping()
    scheduler._housekeeping()

    assert asked == [CHECK_ZONES]


def due_now(scheduler: PunctualScheduler) -> set[str]:
    return due_within(scheduler, 0.0)


def due_within(scheduler: PunctualScheduler, seconds: float) -> set[str]:
    until = time.monotonic() + seconds
    return {stage.name for stage in scheduler._agenda._stages if stage.next_at <= until}


def test_a_notification_wakes_it(scheduler: PunctualScheduler) -> None:
    tick(scheduler)
    assert scheduler._listener is not None

    wake_schedulers_now()

    assert select.select([scheduler._listener], [], [], 5)[0]
    scheduler._hear()
    assert {"materialize", "gate", "dispatch"} <= due_now(scheduler)


def test_a_notification_for_one_stage_leaves_the_others(
    scheduler: PunctualScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick(scheduler)
    assert scheduler._listener is not None
    hurried: list[object] = []
    monkeypatch.setattr(scheduler._agenda, "hurry", lambda *names, within: hurried.append(names))

    wake_stage_on_commit("dispatch")

    assert select.select([scheduler._listener], [], [], 5)[0]
    scheduler._hear()
    assert hurried == [("dispatch",)]


@pytest.mark.parametrize(("due_in", "hurried"), [(2.0, True), (12.0, False)])
def test_what_is_prepared_far_ahead_waits_for_the_regular_look(
    scheduler: PunctualScheduler, alpha: Tenant, due_in: float, hurried: bool
) -> None:
    tick(scheduler)
    scheduler._agenda.run_due()  # what the first listening has hurried
    make_task(alpha, once(database_now() + timedelta(seconds=due_in)))

    assert scheduler._materialize() > 0

    assert ("dispatch" in due_now(scheduler)) == hurried


@pytest.mark.logs("listener.lost")
def test_a_lost_listener_is_opened_again(scheduler: PunctualScheduler) -> None:
    tick(scheduler)
    lost = scheduler._listener
    assert lost is not None
    lost.close()

    scheduler._hear()
    assert scheduler._listener is None
    tick(scheduler)

    assert scheduler._listener is not None


@pytest.mark.logs("listener.not_opened", reason="away")
def test_a_listener_that_cannot_be_opened_is_tried_again(
    scheduler: PunctualScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise psycopg.OperationalError("away")

    with monkeypatch.context() as away:
        away.setattr(beat_module, "Listener", refuse)
        assert not scheduler._listen()

    assert scheduler._listen()


def test_publishing_does_not_wait_for_the_broker_beforehand(scheduler: PunctualScheduler) -> None:
    assert scheduler._ensure_connected() is scheduler.connection
    assert not scheduler.connection.connected
    # Nor for long while it publishes.
    assert AT_ONCE.items() <= scheduler.connection.transport_options.items()


def test_what_is_handed_out_is_looked_after_within_a_second(
    scheduler: PunctualScheduler, alpha: Tenant
) -> None:
    tick(scheduler)
    assert "rescue" not in due_within(scheduler, 1.5)
    beat(WORKER)
    make_task(alpha, once())

    scheduler._agenda.hurry("materialize", "dispatch")
    tick(scheduler)

    assert Execution.objects.get().status == "QUEUED"
    assert "rescue" in due_within(scheduler, 1.5)


@pytest.fixture
def dear_looks(monkeypatch: pytest.MonkeyPatch, _no_part_of_a_pass_is_slow: None) -> None:
    """Let every look go past so much that the next without bounds is an hour away."""
    monkeypatch.setattr(lower_bounds, "_CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(lower_bounds, "_SHARE", 1e-12)


@pytest.mark.usefixtures("dear_looks")
@pytest.mark.parametrize("late", [timedelta(), timedelta(seconds=5)])
def test_work_that_wakes_is_found_below_where_the_last_look_has_ended(
    scheduler: PunctualScheduler, alpha: Tenant, late: timedelta
) -> None:
    beat("w1", slots=10)
    for _ in range(3):
        tick(scheduler)
    created = make_task(alpha, once(database_now() - late))

    wake_schedulers_now()
    ticks = 0
    while not Execution.objects.filter(task=created, status="QUEUED").exists():
        ticks += 1
        assert ticks < 10
        tick(scheduler)


@pytest.mark.usefixtures("dear_looks")
def test_work_that_has_waited_for_the_gate_is_found_where_it_was_due(
    scheduler: PunctualScheduler, alpha: Tenant
) -> None:
    beat("w1", slots=10)
    # On a slow machine others come due before this one, and take places that stay theirs.
    limited = {**every_second()["schedule"], "max_concurrent": 100}
    task = make_task(alpha, {**every_second(), "schedule": limited})
    for _ in range(3):
        tick(scheduler)
    waiting = Execution.objects.filter(task=task, gated=True).order_by("due_at").first()
    assert waiting is not None
    Execution.objects.filter(id=waiting.id).update(due_at=database_now() - timedelta(hours=1))

    scheduler._agenda.hurry("gate")
    ticks = 0
    while Execution.objects.get(id=waiting.id).status != "QUEUED":
        ticks += 1
        assert ticks < 10
        scheduler._agenda.hurry("gate")
        tick(scheduler)


def test_the_time_that_keys_take_delays_no_look_of_the_gate(
    scheduler: PunctualScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]

    def of_keys(*_: object) -> Counts:
        clock[0] += 0.4
        return Counts(next_in=5.0)

    monkeypatch.setattr("executions.beat.time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr("executions.beat.gate.run_once", lambda *_: Counts(next_in=1.0))
    monkeypatch.setattr("executions.beat.keys.run_once", of_keys)

    assert scheduler._gate() == pytest.approx(0.6)


def test_a_stretch_that_is_noted_late_is_judged_at_once(scheduler: PunctualScheduler) -> None:
    tick(scheduler)
    now = database_now()
    UnownedStretch.objects.create(
        partition=3, since=now - timedelta(seconds=60), until=now, judged=False
    )

    scheduler._partitions()
    assert scheduler.partitions.neglected
    scheduler._agenda.run_due()

    assert not scheduler.partitions.neglected
    assert not UnownedStretch.objects.filter(judged=False).exists()
