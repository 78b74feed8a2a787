"""Workers: what becomes of what they hold and of what is in flight when they stop or die."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Q

from executions.changes.worker_wishes import Action, Choice, wish
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution
from scheduler_site.broker import broker_url
from scheduler_site.celery import app
from shared import redis_client
from shared.redis_client import WORKERS_KEY
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant, once
from tests.support.held import SAYS_AT_ONCE, workers_hold_all_queued
from tests.support.holding_receiver import HoldingReceiver, holding_receiver
from tests.support.killable_valkey import KillableValkey
from tests.support.processes import Process, Processes, Receiver, processes
from tests.support.waiting import until
from wire.heartbeats import workers

pytestmark = pytest.mark.slow

#: Longer than a worker waits for a message before it asks again.
_READ_SECONDS = 2.5
QUICK_RETRY = {"max_attempts": 3, "backoff": "fixed", "initial_delay_seconds": 0.1}


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return make_tenant()


def webhooks(tenant: Tenant, url: str, count: int, in_seconds: float = 0.0) -> list[Task]:
    """Create one-time tasks that call the URL after some seconds, with a long time-out."""
    at = database_now() + timedelta(seconds=in_seconds)
    target = {"url": url, "timeout_seconds": 600}
    return [
        make_task(tenant, once(at, target=target, retry_policy=QUICK_RETRY, name=f"{url} {n}"))
        for n in range(count)
    ]


@pytest.fixture
def holding() -> Iterator[HoldingReceiver]:
    """Give a receiver whose requests are in flight until the test lets them go."""
    with holding_receiver() as receiver:
        yield receiver


def statuses(tasks: Iterable[Task]) -> Counter[str]:
    found = Execution.objects.filter(task_id__in=[task.id for task in tasks])
    return Counter(found.values_list("status", flat=True))


def all_are(tasks: list[Task], status: str) -> bool:
    return statuses(tasks) == {status: len(tasks)}


def requests_of(receiver: Receiver, tasks: list[Task]) -> Counter[str]:
    """Return how often each task's webhook was answered."""
    ids = {str(task.id) for task in tasks}
    return Counter(line["task_id"] for line in receiver.lines() if line["task_id"] in ids)


def worker_takes_work(process: Process) -> bool:
    return any(one.takes_work and one.details["pid"] == process.pid for one in workers())


def _reads_of_queues() -> int:
    """Return how often a worker has asked for messages; each reading takes a second at most."""
    found: dict[str, Any] = redis_client.client().info("commandstats")
    return int(found.get("cmdstat_brpop", {"calls": 0})["calls"])


def _beaten_for(worker: str, seconds: float) -> Callable[[], bool]:
    """Return whether a worker has beaten this long after now, by Redis' clock."""
    first = redis_client.client().zscore(WORKERS_KEY, worker) or 0.0
    return lambda: (redis_client.client().zscore(WORKERS_KEY, worker) or 0.0) - first > seconds


def attempts_of(tasks: list[Task]) -> list[tuple[int, str]]:
    """Return number and outcome of every attempt, a crowd of equal ones once."""
    executions = Execution.objects.filter(task_id__in=[task.id for task in tasks])
    found = Attempt.objects.filter(execution_id__in=executions.values("id"))
    return sorted(set(found.values_list("number", "outcome")))


def test_a_stop_hands_back_what_is_held_at_once_and_finishes_what_flies(
    run: Processes, tenant: Tenant, holding: HoldingReceiver
) -> None:
    run.start("scheduler")
    run.start("recorder")
    # Half of the slots are one destination's, and so few wait that they are sent again at once.
    worker = run.start("worker", WORKER_CAPACITY="6", **SAYS_AT_ONCE)
    until(lambda: worker_takes_work(worker))
    flying = webhooks(tenant, holding.url, 3)
    until(lambda: all_are(flying, "RUNNING"))
    held = webhooks(tenant, holding.url, 5)
    until(lambda: all_are(held, "QUEUED") and workers_hold_all_queued())

    worker.ask_to_stop()

    until(lambda: all_are(held, "PENDING"))
    assert statuses(flying) == {"RUNNING": 3}
    holding.let_go(3)
    assert worker.popen.wait(120) == 0
    until(lambda: all_are(flying, "SUCCEEDED"))
    assert workers() == []
    # Handed back is not lost, and it costs no attempt.
    run.start("worker")
    holding.let_go(5)
    until(lambda: all_are(held, "SUCCEEDED"))
    assert attempts_of([*flying, *held]) == [(1, "SUCCEEDED")]
    assert len(holding.ids) == len(set(holding.ids)) == 8


def test_a_quiet_worker_leaves_the_queues_to_others_and_ends_when_it_is_to_drain(
    run: Processes, tenant: Tenant, holding: HoldingReceiver
) -> None:
    receiver = run.receiver()
    run.start("scheduler")
    run.start("recorder")
    first = run.start("worker", **SAYS_AT_ONCE)
    until(lambda: worker_takes_work(first))
    flying = webhooks(tenant, holding.url, 2)
    until(lambda: all_are(flying, "RUNNING"))
    [one] = workers()

    wish(Action.QUIET, Choice(worker=one.id), actor=ACTOR)
    until(lambda: all(worker.is_settled for worker in workers()))
    until(_beaten_for(one.id, _READ_SECONDS))
    reads = _reads_of_queues()
    until(_beaten_for(one.id, _READ_SECONDS))
    # The last reading has ended, and no other one has begun.
    assert _reads_of_queues() == reads

    second = run.start("worker", **SAYS_AT_ONCE)
    others = webhooks(tenant, receiver.url("/ok"), 20)
    until(lambda: all_are(others, "SUCCEEDED"))
    assert attempts_of(others) == [(1, "SUCCEEDED")]
    assert statuses(flying) == {"RUNNING": 2}
    # It reads the queues again, alone: the other one is stopped.
    wish(Action.RESUME, Choice(worker=one.id), actor=ACTOR)
    until(lambda: worker_takes_work(first))
    assert second.stop() == 0
    again = webhooks(tenant, receiver.url("/ok"), 5)
    until(lambda: all_are(again, "SUCCEEDED"))

    wish(Action.DRAIN, Choice(worker=one.id), actor=ACTOR)
    until(lambda: all(worker.is_settled for worker in workers()))
    assert first.popen.poll() is None
    holding.let_go(2)
    assert first.popen.wait(120) == 0
    until(lambda: all_are(flying, "SUCCEEDED"))
    assert workers() == []


def test_a_crash_with_requests_in_flight_loses_none_and_doubles_only_those(
    run: Processes, tenant: Tenant, holding: HoldingReceiver
) -> None:
    receiver = run.receiver()
    run.start("scheduler")
    run.start("recorder")
    worker = run.start("worker", WORKER_CAPACITY="10")
    until(lambda: worker_takes_work(worker))
    done = webhooks(tenant, receiver.url("/ok"), 10)
    until(lambda: all_are(done, "SUCCEEDED"))
    flying = webhooks(tenant, holding.url, 5)
    until(lambda: all_are(flying, "RUNNING"))
    in_flight = set(holding.ids)
    held = webhooks(tenant, holding.url, 5)
    until(lambda: all_are(held, "QUEUED"))

    worker.kill()
    holding.let_go_all()
    run.start("worker")

    until(lambda: all_are([*done, *flying, *held], "SUCCEEDED"))
    assert attempts_of(flying) == [(1, "WORKER_LOST"), (2, "SUCCEEDED")]
    assert attempts_of([*done, *held]) == [(1, "SUCCEEDED")]
    assert set(requests_of(receiver, done).values()) == {1}
    # The first answers met a dead worker; the second request carries the same key.
    assert len(in_flight) == 5
    assert {key: holding.ids.count(key) for key in in_flight} == dict.fromkeys(in_flight, 2)
    assert Counter(holding.ids).total() == 5 + 5 + 5


@pytest.fixture
def valkey(tmp_path_factory: pytest.TempPathFactory, settings: Any) -> Iterator[KillableValkey]:
    """Point the test at a server of its own."""
    own = KillableValkey(Path(tmp_path_factory.mktemp("valkey")))
    shared_broker, settings.REDIS_URL = app.conf.broker_url, own.url
    app.conf.broker_url = broker_url(own.url)
    redis_client.client.cache_clear()
    yield own
    app.conf.broker_url = shared_broker
    redis_client.client.cache_clear()
    own.remove()


def test_after_a_crash_of_redis_everything_goes_on_by_itself(
    transactional_db: None,
    tenant: Tenant,
    valkey: KillableValkey,
    holding: HoldingReceiver,
    tmp_path: Path,
) -> None:
    with processes(tmp_path, valkey.url) as run:
        receiver = run.receiver()
        run.start("scheduler")
        run.start("recorder")
        worker = run.start("worker", WORKER_CAPACITY="6")
        until(lambda: worker_takes_work(worker))
        before = webhooks(tenant, receiver.url("/ok"), 10)
        until(lambda: all_are(before, "SUCCEEDED"))
        flying = webhooks(tenant, holding.url, 3)
        until(lambda: all_are(flying, "RUNNING"))
        held = webhooks(tenant, holding.url, 5)
        until(lambda: all_are(held, "QUEUED"))

        valkey.kill()
        holding.let_go(3)
        until(lambda: not holding.in_flight)
        valkey.start()
        redis_client.client.cache_clear()
        holding.let_go(5)

        until(lambda: all_are([*flying, *held], "SUCCEEDED"))
        after = webhooks(tenant, receiver.url("/ok"), 10)
        until(lambda: all_are(after, "SUCCEEDED"))
        everything = [*before, *flying, *held, *after]
        assert attempts_of(everything) == [(1, "SUCCEEDED")]
        assert set(requests_of(receiver, [*before, *after]).values()) == {1}
        assert len(holding.ids) == len(set(holding.ids)) == 8
        assert worker.popen.poll() is None


def test_unfinished_work_is_never_left_behind(run: Processes, tenant: Tenant) -> None:
    receiver = run.receiver()
    run.start("scheduler")
    run.start("recorder")
    tasks = webhooks(tenant, receiver.url("/ok"), 200, in_seconds=1.0)
    first, second = run.start("worker"), run.start("worker")
    until(lambda: worker_takes_work(first) and worker_takes_work(second))

    until(lambda: statuses(tasks)["SUCCEEDED"] > 0)
    first.stop()

    until(lambda: all_are(tasks, "SUCCEEDED"))
    assert not Execution.objects.filter(~Q(status="SUCCEEDED")).exists()
    assert set(requests_of(receiver, tasks).values()) == {1}


def test_a_worker_that_cannot_deliver_ends_instead_of_taking_work(run: Processes) -> None:
    worker = run.start("worker", WEBHOOK_ALLOWED_NETWORKS="nonsense", LOG_JSON="true")

    assert worker.popen.wait(120) == 1
    [line] = [one for one in worker.events if one["event"] == "worker_loop.not_started"]
    assert "Traceback" in line["exception"]
