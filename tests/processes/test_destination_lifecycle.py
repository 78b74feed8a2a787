"""Destinations over real processes: one that hangs, changed limits, changes of what is parked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from executions.changes.cancellation import cancel_execution
from executions.choices import Status
from executions.destinations.limits import change_limits, get_destination, reset_circuit
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution
from shared import redis_client
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.changes import changes
from tests.factories import ACTOR, every_second, make_task, make_tenant, once
from tests.support.held import SAYS_AT_ONCE, workers_hold_all_queued
from tests.support.holding_receiver import holding_receiver
from tests.support.processes import Processes, Receiver
from tests.support.scripts import Moved
from tests.support.waiting import until
from wire.destination_key import key_of
from wire.heartbeats import workers

pytestmark = pytest.mark.slow

#: Longer than any of these tests.
HANGING = "/slow?ms=300000"
ONE_ATTEMPT = {"max_attempts": 1}
QUICK_RETRY = {"max_attempts": 3, "backoff": "fixed", "initial_delay_seconds": 0.1}
#: The next start is a quarter of an hour away.
ALMOST_NEVER = {"rate_per_second": 0.001}
#: A machine under load starts processes slowly.
patiently = partial(until, timeout=120.0)


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return make_tenant()


@pytest.fixture
def receiver(run: Processes) -> Receiver:
    return run.receiver()


def engine(run: Processes, **environment: str) -> None:
    """Start what brings a task to its end, and wait until the worker takes work."""
    run.start("scheduler")
    run.start("recorder")
    worker = run.start("worker", **environment)
    patiently(lambda: any(one.takes_work and one.details["pid"] == worker.pid for one in workers()))


def calls(tenant: Tenant, url: str, count: int = 1, **parts: Any) -> list[Task]:
    """Create one-time tasks, due now, that call a URL and may take as long as it takes."""
    target = {"url": url, "timeout_seconds": 600}
    body = {"target": target, "retry_policy": ONE_ATTEMPT, **parts}
    return [make_task(tenant, once(name=f"{url} {n}", **body)) for n in range(count)]


def limit(tenant: Tenant, host: str, **limits: Any) -> None:
    change_limits(tenant.id, host, limits, actor=ACTOR)


def known(tenant: Tenant, url: str) -> None:
    """Let the host be a destination, before anything calls it."""
    make_task(tenant, once(database_now() + timedelta(days=1), target={"url": url}))


def rows(*tasks: Task) -> Any:
    return Execution.objects.filter(task_id__in=[task.id for task in tasks])


def row(task: Task) -> Execution:
    """Return the only execution of a task."""
    return Execution.objects.get(task_id=task.id)


def statuses(tasks: Iterable[Task]) -> Counter[str]:
    return Counter(rows(*tasks).values_list("status", flat=True))


def all_are(tasks: list[Task], status: str) -> bool:
    return statuses(tasks) == {status: len(tasks)}


def all_parked(*tasks: Task) -> bool:
    return len(rows(*tasks).filter(status="PENDING", parked=True)) == len(tasks)


def callers(receiver: Receiver, path: str = "") -> Counter[str]:
    """Return how many requests arrived for each task."""
    return Counter(line["task_id"] for line in receiver.lines(path))


def each_once(*tasks: Task) -> dict[str, int]:
    return {str(task.id): 1 for task in tasks}


# --- one that hangs ------------------------------------------------------------------------------


def test_destinations_that_hang_keep_no_other_from_running(
    run: Processes, tenant: Tenant, receiver: Receiver
) -> None:
    first, second = run.receiver(), run.receiver()
    engine(run, WORKER_CAPACITY="4")
    hanging = calls(tenant, first.url(HANGING), 40)
    patiently(lambda: statuses(hanging)["RUNNING"] == 2)

    waves = [calls(tenant, receiver.url("/ok"), 10) for _ in range(2)]
    patiently(lambda: all(all_are(wave, "SUCCEEDED") for wave in waves))
    others = calls(tenant, second.url(HANGING), 10)
    patiently(lambda: statuses(others)["RUNNING"] == 1)
    waves.append(calls(tenant, receiver.url("/ok"), 10))
    patiently(lambda: all_are(waves[-1], "SUCCEEDED"))

    assert callers(receiver) == each_once(*waves[0], *waves[1], *waves[2])
    # Half of the slots, then half of those that are left; one stays free.
    assert (len(first.lines()), len(second.lines())) == (2, 1)
    patiently(lambda: rows(*hanging).filter(parked=True).exists())
    # Nothing of what waits is lost, nor has it used an attempt.
    assert sum(statuses(hanging).values()) == 40
    assert set(statuses([*hanging, *others])) <= {"RUNNING", "QUEUED", "PENDING"}
    assert not Attempt.objects.filter(execution_id__in=rows(*hanging, *others).values("id"))


# --- limits that change under way ----------------------------------------------------------------


def test_requests_at_a_time_may_be_more_or_fewer_from_one_moment_to_the_next(
    run: Processes, tenant: Tenant
) -> None:
    with holding_receiver() as receiver:
        known(tenant, receiver.url)
        limit(tenant, receiver.host, max_in_flight=2)
        engine(run, **SAYS_AT_ONCE)
        tasks = calls(tenant, receiver.url, 10)
        patiently(lambda: receiver.in_flight == 2)
        patiently(workers_hold_all_queued)

        # Nothing has ended: those that come are let go by the change.
        limit(tenant, receiver.host, max_in_flight=5)
        patiently(lambda: receiver.in_flight == 5)
        limit(tenant, receiver.host, max_in_flight=1)
        receiver.let_go(4)
        patiently(lambda: statuses(tasks)["SUCCEEDED"] == 4)
        patiently(lambda: len(receiver.arrivals) == 5 and receiver.in_flight == 1)
        for _ in range(5):
            before = len(receiver.arrivals)
            receiver.let_go()
            patiently(partial(receiver.has_more_than, before))
        receiver.let_go()
        patiently(lambda: all_are(tasks, "SUCCEEDED"))

    assert receiver.arrivals == [1, 2, 3, 4, 5, 1, 1, 1, 1, 1]


def test_a_rate_counts_from_its_change_and_ends_with_the_next(
    run: Processes, tenant: Tenant, receiver: Receiver
) -> None:
    with holding_receiver() as first:
        known(tenant, first.url)
        limit(tenant, first.host, max_in_flight=1)
        engine(run, **SAYS_AT_ONCE)
        tasks = calls(tenant, first.url, 6)
        patiently(lambda: first.in_flight == 1)
        patiently(workers_hold_all_queued)

        limit(tenant, first.host, max_in_flight=None, **ALMOST_NEVER)
        # The slot of the moment goes to one of them, everything else waits for long.
        patiently(lambda: first.in_flight == 2)
        patiently(lambda: rows(*tasks).filter(parked=True).count() == 4)
        assert {one.reason for one in rows(*tasks).filter(parked=True)} == {"destination_rate"}
        assert first.in_flight == 2
        limit(tenant, first.host, rate_per_second=None)
        patiently(lambda: first.in_flight == 6)
        first.let_go(6)
        patiently(lambda: all_are(tasks, "SUCCEEDED"))

    assert len(first.arrivals) == 6
    assert not rows(*tasks).exclude(reason="")


def test_starts_keep_the_rate_that_is_set_while_the_worker_holds_them(
    run: Processes, tenant: Tenant, receiver: Receiver
) -> None:
    known(tenant, receiver.url("/"))
    limit(tenant, receiver.host, max_in_flight=1)
    engine(run, **SAYS_AT_ONCE)
    (hanging,) = calls(tenant, receiver.url(HANGING))
    patiently(lambda: all_are([hanging], "RUNNING"))
    tasks = calls(tenant, receiver.url("/ok"), 6)
    patiently(workers_hold_all_queued)

    before_ms = redis_now_ms()
    limit(tenant, receiver.host, max_in_flight=None, rate_per_second=4)

    patiently(lambda: all_are(tasks, "SUCCEEDED"))
    arrived = sorted(line["wall_ns"] // 1_000_000 for line in receiver.lines("/ok"))
    # A load can only make them later than their slots.
    assert [at >= before_ms + 250 * place for place, at in enumerate(arrived)] == [True] * 6
    assert callers(receiver, "/ok") == each_once(*tasks)


def redis_now_ms() -> int:
    seconds, microseconds = redis_client.client().time()
    return int(seconds * 1000 + microseconds // 1000)


def test_an_open_circuit_keeps_calls_away_until_somebody_closes_it(
    run: Processes, tenant: Tenant, receiver: Receiver
) -> None:
    known(tenant, receiver.url("/"))
    engine(run)
    failing = calls(tenant, receiver.url("/500"), 20)
    patiently(lambda: all_are(failing, "FAILED"))
    patiently(lambda: get_destination(tenant.id, receiver.host).circuit != "closed")
    assert reset_circuit(tenant.id, receiver.host, actor=ACTOR).circuit == "closed"
    open_for_long(tenant, receiver.host)

    tasks = calls(tenant, receiver.url("/ok"), 5)
    patiently(lambda: all_parked(*tasks))
    assert {row(task).reason for task in tasks} == {"circuit_open"}
    assert not receiver.lines("/ok")
    closed = reset_circuit(tenant.id, receiver.host, actor=ACTOR)

    patiently(lambda: all_are(tasks, "SUCCEEDED"))
    assert (closed.circuit, closed.calls) == ("closed", 0)
    assert callers(receiver, "/ok") == each_once(*tasks)


def open_for_long(tenant: Tenant, host: str) -> None:
    """Open the circuit as failures of an hour from now would."""
    ahead = Moved()
    ahead.at = redis_now_ms() + 3_600_000 - ahead.now
    key = key_of(tenant.id, host)
    assert ahead.report(20, 20, destination=key) == [key, ""]


# --- changes of what is parked -------------------------------------------------------------------


@pytest.fixture
def full(run: Processes, tenant: Tenant, receiver: Receiver) -> Task:
    """Return a task whose failed call had the last slot of the receiver for long."""
    known(tenant, receiver.url("/"))
    limit(tenant, receiver.host, **ALMOST_NEVER)
    engine(run)
    (task,) = calls(tenant, receiver.url("/500?first"), retry_policy=QUICK_RETRY)
    patiently(lambda: rows(task).filter(attempt=1, parked=True).exists())
    return task


def test_what_is_parked_is_cancelled_at_once_and_never_arrives(
    tenant: Tenant, receiver: Receiver, full: Task
) -> None:
    one, of_task, deleted, staying = tasks = calls(tenant, receiver.url("/ok"), 4)
    patiently(lambda: all_parked(*tasks))

    cancel_execution(tenant.id, row(full).id, actor=ACTOR)
    cancel_execution(tenant.id, row(one).id, actor=ACTOR)
    changes.cancel(of_task)
    changes.delete(deleted)

    assert [row(task).status for task in (full, *tasks)] == [Status.CANCELLED] * 4 + ["PENDING"]
    assert get_destination(tenant.id, receiver.host).parked == 1
    limit(tenant, receiver.host, rate_per_second=None)
    patiently(lambda: all_are([staying], "SUCCEEDED"))
    # Due before it, they would have gone with it.
    assert callers(receiver) == each_once(full, staying)
    assert statuses([full, one, of_task, deleted]) == {"CANCELLED": 4}


def test_what_is_parked_calls_where_its_task_points_since_an_edit(
    run: Processes, tenant: Tenant, receiver: Receiver, full: Task
) -> None:
    other = run.receiver()
    away, here = tasks = calls(tenant, receiver.url("/ok?old"), 2)
    series = make_task(tenant, every_second(target={"url": receiver.url("/ok?series-old")}))
    patiently(lambda: all_parked(*tasks))
    patiently(lambda: rows(series).filter(parked=True).count() >= 2)
    waited = set(rows(series).filter(parked=True).values_list("id", flat=True))

    changes.patch(away, {"target": {"url": other.url("/ok?new")}})
    changes.patch(series, {"target": {"url": other.url("/ok?series-new")}})
    changes.patch(here, {"target": {"url": receiver.url("/ok?new")}})

    # Another destination is not kept waiting by the limit of the former.
    patiently(lambda: all_are([away], "SUCCEEDED"))
    patiently(lambda: rows(series).filter(id__in=waited, status="SUCCEEDED").count() == len(waited))
    patiently(lambda: all_parked(here))
    limit(tenant, receiver.host, rate_per_second=None)
    patiently(lambda: all_are([here], "SUCCEEDED"))
    assert [line["path"] for line in receiver.lines("/ok")] == ["/ok?new"]
    assert callers(other, "/ok?new") == each_once(away)
    arrived = [line["webhook_id"] for line in other.lines("/ok?series-new")]
    assert len(arrived) == len(set(arrived))
    assert {str(one) for one in waited} <= set(arrived)


def test_what_is_parked_stays_through_a_pause_and_runs_after_the_resume(
    tenant: Tenant, receiver: Receiver, full: Task
) -> None:
    paused, staying = tasks = calls(tenant, receiver.url("/ok"), 2)
    patiently(lambda: all_parked(*tasks))

    changes.pause(paused)
    limit(tenant, receiver.host, rate_per_second=None)
    patiently(lambda: all_are([staying], "SUCCEEDED"))
    assert callers(receiver, "/ok") == each_once(staying)
    assert (row(paused).status, row(paused).held) == ("PENDING", True)
    changes.resume(paused)

    patiently(lambda: all_are([paused], "SUCCEEDED"))
    assert callers(receiver, "/ok") == each_once(paused, staying)
    assert Attempt.objects.filter(execution_id=row(paused).id).count() == 1
