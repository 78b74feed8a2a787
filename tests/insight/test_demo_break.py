"""The report of a break: both ledgers counted, and what happened in order."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from executions.choices import AttemptOutcome
from executions.demo.breaks import SETTLE_SECONDS, Kind
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution, PartitionLease, SchedulerNode, UnownedStretch
from executions.ownership.partitions import Partitions
from insight.demo_break import Report, Stretch, report
from shared.ids import attempt_id
from tasks.models import Task
from tenants.models import Tenant
from tests.support.demo import Up, note_break, start_demo
from tests.support.ended_rows import ended

pytestmark = pytest.mark.django_db

#: Two tasks in two seconds.
EXPECTED = 4


@pytest.fixture
def demo(monkeypatch, settings) -> tuple[Tenant, Up]:
    return start_demo(monkeypatch, settings)


def begin(tenant: Tenant, kind: Kind = Kind.WORKER, ago: float = 60) -> tuple[datetime, list[Task]]:
    first = database_now().replace(microsecond=0) - timedelta(seconds=ago)
    return first, note_break(tenant, kind, first)


def run_all(first: datetime, tasks: list[Task], **parts: Any) -> list[Execution]:
    """Write an execution of each instant; ``parts`` are those of the last one."""
    places = [(task, first + timedelta(seconds=number)) for number in range(2) for task in tasks]
    last = len(places) - 1
    return [ended(task, at, **(parts if n == last else {})) for n, (task, at) in enumerate(places)]


def read(tenant: Tenant, *circuit: Stretch) -> Report:
    found = report(tenant.id, lambda _, __: circuit)
    assert found is not None
    return found


def test_before_the_first_break_there_is_no_report(demo):
    assert report(demo[0].id, lambda _, __: ()) is None


def test_what_ran_once_in_both_ledgers_is_neither_lost_nor_doubled(demo):
    tenant, up = demo
    first, tasks = begin(tenant)
    runs = run_all(first, tasks)
    up.struck(first + timedelta(seconds=1), back=first + timedelta(seconds=2))
    # What others sent to the receiver does not count.
    up.arrived(*[(run.id, 1, 1, 1) for run in runs], (tenant.id, 1, 5, 5))

    found = read(tenant)

    assert (found.phase, found.kept, found.recovered_after) == ("over", True, None)
    counts = found.counts
    assert (counts.expected, counts.due, counts.succeeded, counts.under_way) == (4, 4, 4, 0)
    assert (counts.requests, counts.arrived, counts.sent_again) == (EXPECTED, EXPECTED, 0)
    assert (counts.doubled, counts.missing, counts.late) == (0, 0, 0)
    assert [one.text for one in found.moments] == [
        "2 pulses begin to fire every second",
        "worker-1 (pid 41) was killed",
        "4 of 4 instants have ended",
        "The supervisor started worker-1 again (pid 42)",
    ]


def test_an_instant_that_the_receiver_never_got_is_missing(demo):
    tenant, up = demo
    first, tasks = begin(tenant)
    *arrived, _ = run_all(first, tasks)
    up.arrived(*[(run.id, 1, 1, 1) for run in arrived])

    found = read(tenant)

    assert (found.counts.succeeded, found.counts.arrived, found.counts.missing) == (4, 3, 1)
    assert found.kept is False


def test_an_attempt_that_arrived_twice_is_doubled_and_a_retry_is_not(demo):
    tenant, up = demo
    first, tasks = begin(tenant)
    *others, retried = run_all(first, tasks, attempt=2)
    up.arrived(*[(run.id, 1, 1, 1) for run in others], (retried.id, 1, 1, 0), (retried.id, 2, 2, 2))

    found = read(tenant)

    assert (found.counts.retries, found.counts.sent_again, found.counts.doubled) == (1, 1, 1)
    assert found.kept is False


def test_without_the_receivers_count_nothing_is_claimed(demo):
    tenant, up = demo
    first, tasks = begin(tenant)
    runs = run_all(first, tasks)

    assert (read(tenant).kept, read(tenant).counts.arrived) == (None, None)
    up.arrived(*[(run.id, 1, 1, 1) for run in runs], complete=False)
    assert (read(tenant).kept, read(tenant).counts.missing) == (None, None)


def test_what_never_ran_is_waited_for_and_then_missing(demo):
    tenant, up = demo
    up.arrived()
    begin(tenant, ago=SETTLE_SECONDS / 2)
    waited = read(tenant)
    begin(tenant, ago=SETTLE_SECONDS + 5)
    gave_up = read(tenant)

    assert (waited.phase, waited.kept) == ("recovers", None)
    assert (gave_up.phase, gave_up.counts.missing, gave_up.kept) == ("over", EXPECTED, False)


def test_a_fault_of_the_receiver_has_a_begin_an_end_and_a_circuit(demo):
    tenant, _ = demo
    first, _ = begin(tenant, Kind.RECEIVER_FAILS, ago=5)
    opened = first + timedelta(seconds=3)

    found = read(tenant, Stretch(opened, None), Stretch(first - timedelta(days=1), None))

    assert found.phase == "acts"
    texts = [one.text for one in found.moments]
    assert texts.count("The circuit opened: calls wait, and no attempt is lost") == 1
    assert "The receiver answers as usual again" not in texts

    begin(tenant, Kind.RECEIVER_FAILS, ago=30)
    past = [one.text for one in read(tenant, Stretch(found.now, found.now)).moments]
    assert "The receiver answers as usual again" in past
    assert "The circuit closed: calls go out again" in past


def test_late_starts_and_lost_calls_are_told_and_measured(demo):
    tenant, up = demo
    first, tasks = begin(tenant)
    struck = first + timedelta(seconds=1)
    *_, last = run_all(first, tasks, delay_ms=7000, attempt=2, lost_count=1)
    given_back = first + timedelta(seconds=6)
    Attempt.objects.create(
        id=attempt_id(last.id, 1, 0),
        execution_id=last.id,
        tenant_id=tenant.id,
        number=1,
        fencing_token=1,
        outcome=AttemptOutcome.WORKER_LOST,
        finished_at=given_back,
    )
    up.struck(struck)

    found = read(tenant)

    assert (found.counts.late, found.counts.slowest_ms) == (1, 7000.0)
    assert (found.counts.lost_attempts, found.counts.retries) == (1, 1)
    # Due at the strike, begun 7 s later, and 40 ms under way.
    assert found.recovered_after == pytest.approx(7.04)
    told = {one.text: one.at for one in found.moments}
    assert told["Given back, to be tried again: 1 call of the lost worker"] == given_back
    assert "The last late start, 7.0 s after its instant" in told


def test_partitions_of_a_killed_scheduler_wait_until_they_are_taken_over(demo):
    tenant, up = demo
    owner = Partitions()
    owner.run_once()
    SchedulerNode.objects.update(name="scheduler-1@here", pid=41)
    first, _ = begin(tenant, Kind.SCHEDULER, ago=2)
    up.struck(first + timedelta(seconds=1), kind="scheduler")
    waiting = read(tenant)
    PartitionLease.objects.update(owner=None)
    now = database_now()
    stretch = {"since": first, "until": now, "taken_by": "scheduler-2@here"}
    UnownedStretch.objects.bulk_create(
        UnownedStretch(partition=number, lost_by=lost_by, **stretch)
        for number, lost_by in enumerate(("scheduler-1@here", "scheduler-1@here", ""))
    )

    taken = read(tenant)

    assert (waiting.waiting, waiting.unowned) == (256, 0)
    assert (taken.waiting, taken.unowned) == (0, 256)
    seconds = f"{(now - first).total_seconds():.1f} s"
    told = [one.text for one in taken.moments]
    assert (
        "scheduler-2 took over 2 partitions of scheduler-1, which had no scheduler for at most "
        f"{seconds}"
    ) in told
    assert (
        f"scheduler-2 took 1 partition that had been released, after {seconds} without one" in told
    )


def test_a_strike_of_an_earlier_break_does_not_count(demo):
    tenant, up = demo
    first, _ = begin(tenant, ago=0)
    up.struck(first - timedelta(minutes=5))

    assert read(tenant).struck_at is None
