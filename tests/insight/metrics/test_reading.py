"""What a scrape reads, and what it says while a server is away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import orjson
import pytest
import redis
from django.db import OperationalError, ProgrammingError

from executions.loop.clocks import database_now
from executions.models import Execution, PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions
from insight.metrics import reading
from insight.metrics.reading import Sample
from shared.redis_client import (
    CLOCKS_KEY,
    REFUSED_KEY,
    SPANS_KEY,
    WORKER_INFO_KEY,
    WORKERS_KEY,
    client,
)
from tenants.models import ApiKey
from tests.factories import make_key, make_task, make_tenant, once, prepare, release
from tests.support.letters import make_letters
from wire import heartbeats


@pytest.fixture(autouse=True)
def _no_former_workers(django_db_modify_db_settings: None) -> None:
    client().delete(WORKERS_KEY, WORKER_INFO_KEY, CLOCKS_KEY)


def values(source: Callable[[], Iterator[Sample]]) -> dict[tuple[str, ...], Any]:
    return {(one.metric, *one.labels): one.value for one in source()}


def _refused_with(error: Exception) -> Iterator[Sample]:
    raise error


def up(samples: list[Sample]) -> dict[str, Any]:
    return {one.labels[0]: one.value for one in samples if one.metric == reading.SOURCE_UP}


def test_a_server_that_is_away_is_told_and_not_asked_again():
    asked: list[str] = []

    def away() -> Iterator[Sample]:
        asked.append("away")
        yield from _refused_with(OperationalError())

    def behind() -> Iterator[Sample]:
        asked.append("behind")
        yield Sample("queue_depth", ("due",), 1)

    def other() -> Iterator[Sample]:
        yield Sample("punctual_recorders", (), 1)

    def of_both() -> Iterator[Sample]:
        asked.append("of both")
        yield Sample("queue_depth", ("due",), 1)

    found = reading.read(
        {
            away: ("postgresql",),
            behind: ("postgresql",),
            other: ("redis",),
            of_both: ("redis", "postgresql"),
        }
    )

    assert asked == ["away"]
    assert up(found) == {"postgresql": 0.0, "redis": 1.0}
    assert [one.metric for one in found if one.metric != reading.SOURCE_UP] == [
        "punctual_recorders"
    ]


@pytest.mark.logs("metrics.not_read", part="away", reason="ConnectionError")
def test_redis_that_is_away_leaves_what_postgresql_tells():
    def away() -> Iterator[Sample]:
        yield from _refused_with(redis.ConnectionError())

    def other() -> Iterator[Sample]:
        yield Sample("queue_depth", ("due",), 1)

    found = reading.read({away: ("redis", "postgresql"), other: ("postgresql",)})

    assert up(found) == {"postgresql": 1.0, "redis": 0.0}
    assert Sample("queue_depth", ("due",), 1) in found


@pytest.mark.parametrize(
    ("error", "server"),
    [(ProgrammingError(), "postgresql"), (redis.ResponseError("BUSY"), "redis")],
)
def test_a_question_that_the_server_refuses_leaves_out_its_own_answer_only(
    error: Exception, server: str
):
    def refused() -> Iterator[Sample]:
        yield from _refused_with(error)

    def other() -> Iterator[Sample]:
        yield Sample("queue_depth", ("due",), 1)

    found = reading.read({refused: (server,), other: (server,)})

    assert up(found) == {server: 0.0}
    assert Sample("queue_depth", ("due",), 1) in found


@pytest.mark.django_db
def test_a_count_of_waiting_work_ends_at_its_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "MOST_COUNTED", 2)
    tenant = make_tenant()
    for _ in range(5):
        make_task(tenant, once())
    prepare()
    Execution.objects.update(due_at=database_now() - timedelta(hours=1))

    assert values(reading.waiting_work)["queue_depth", "due"] == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("parts", "age"),
    [
        ({}, 300.0),
        ({"status": "QUEUED"}, 300.0),
        ({"pool": "workflow"}, 300.0),
        ({"pool": "workflow", "held": True}, 0.0),
        ({"pool": "pull.batch"}, 0.0),
        ({"status": "QUEUED", "pool": "pull.x"}, 0.0),
        ({"held": True}, 0.0),
        ({"due_in": 300}, 0.0),
    ],
)
def test_the_oldest_due_work_is_that_which_the_installation_owes(parts: dict[str, Any], age: float):
    make_task(make_tenant(), once())
    prepare()
    changed = {name: value for name, value in parts.items() if name != "due_in"}
    if "status" in changed:
        release()
    due = database_now() + timedelta(seconds=parts.get("due_in", -300))
    Execution.objects.update(due_at=due, **changed)

    assert values(reading.waiting_work)["punctual_oldest_due_seconds",] == pytest.approx(
        age, abs=60
    )


@pytest.mark.django_db
def test_open_letters_are_counted_up_to_a_bound_of_each_tenant_and_one_of_all(
    monkeypatch: pytest.MonkeyPatch,
):
    for name, count in (("Alpha", 4), ("Beta", 1), ("Gamma", 4)):
        make_letters(make_tenant(name), count)

    def counted(**bounds: int) -> Any:
        monkeypatch.setattr(reading, "_LETTERS_COUNTED", bounds)
        return values(reading.backlogs)["punctual_dead_letters_open",]

    assert counted(most=100, of_all=100) == 9
    assert counted(most=2, of_all=100) == 5
    assert counted(most=100, of_all=6) == 6


@pytest.mark.django_db
def test_partitions_without_an_owner_are_counted_with_their_age():
    never = values(reading.partitions)
    partitions = Partitions()
    partitions.run_once()
    owned = values(reading.partitions)
    SchedulerNode.objects.update(lease_expires_at=database_now() - timedelta(seconds=50))
    lost = values(reading.partitions)

    every = PartitionLease.objects.count()
    assert never["punctual_partitions", "unowned"] == every
    assert never["punctual_partition_unowned_seconds",] == 0.0
    assert owned["punctual_partitions", "owned"] == every
    assert owned["punctual_partition_unowned_seconds",] == 0.0
    assert owned["punctual_schedulers",] == 1
    assert lost["punctual_partitions", "unowned"] == every
    # The database's now is that of the test's begin.
    assert lost["punctual_partition_unowned_seconds",] > 5.0


@pytest.mark.django_db
def test_the_most_delayed_tenants_come_first_and_the_others_as_one(settings: Any):
    tenants = [make_tenant(name) for name in ("Alpha", "Beta", "Gamma")]
    for seconds, tenant in zip((10, 300, 60), tenants, strict=True):
        task = make_task(tenant, once())
        prepare()
        due = database_now() - timedelta(seconds=seconds)
        Execution.objects.filter(task_id=task.pk).update(due_at=due)

    assert values(reading.lag_of_tenants) == {}
    settings.PUNCTUAL = replace(settings.PUNCTUAL, metrics_tenants=1)
    found = values(reading.lag_of_tenants)

    assert set(found) == {
        ("punctual_tenant_lag_seconds", str(tenants[1].id)),
        ("punctual_tenant_lag_seconds", "other"),
    }
    longest, others = (
        found["punctual_tenant_lag_seconds", label] for label in (str(tenants[1].id), "other")
    )
    assert longest > others > 0


def test_workers_of_tenants_are_one_pool_whatever_they_are_called():
    heartbeats.beat("ours", {"pool": "gpu", "slots": 4, "running": 1})
    heartbeats.beat("idle", {"pool": "none", "slots": 0})
    for number in range(3):
        told: Any = {"pool": f"pull.secret{number}", "tenant": str(number), "slots": 9}
        heartbeats.beat(f"theirs{number}", told)

    found = values(reading.workers)

    assert found["punctual_workers", "gpu", "live"] == 1
    assert found["punctual_workers", "pull", "live"] == 3
    assert found["worker_utilization", "gpu"] == 0.25
    assert found["worker_utilization", "none"] == 0.0
    assert not any("secret" in label for key in found for label in key)


def _wait_in(pools: list[str]) -> None:
    """Let an execution be due in each of the pools."""
    tenant = make_tenant()
    for _ in pools:
        make_task(tenant, once())
    prepare()
    an_hour_ago = database_now() - timedelta(hours=1)
    for pool, execution in zip(pools, Execution.objects.all(), strict=True):
        Execution.objects.filter(pk=execution.pk).update(pool=pool, due_at=an_hour_ago)


@pytest.mark.django_db
def test_due_work_is_told_of_pools_without_a_live_worker_and_names_of_tenants_are_one(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(reading._POOLS_COUNTED, "most", 2)
    _wait_in(["served", "lost", "secret0", "secret0", "secret0", "secret1", "later"])
    in_an_hour = database_now() + timedelta(hours=1)
    Execution.objects.filter(pool="later").update(due_at=in_an_hour)
    heartbeats.beat("served", {"pool": "served", "slots": 4})
    heartbeats.beat("lost", {"pool": "lost", "slots": 4, "patience": 0.0})
    heartbeats.beat("later", {"pool": "later", "slots": 4, "patience": 0.0})

    assert values(reading.work_without_worker) == {
        ("punctual_due_without_worker", "default"): 0,
        ("punctual_due_without_worker", "handlers"): 0,
        ("punctual_due_without_worker", "commands"): 0,
        ("punctual_due_without_worker", "served"): 0,
        ("punctual_due_without_worker", "lost"): 1,
        ("punctual_due_without_worker", "later"): 0,
        # Up to two of each.
        ("punctual_due_without_worker", "other"): 3,
    }


@pytest.mark.django_db
def test_pools_are_looked_through_up_to_a_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(reading._POOLS_COUNTED, "pools", 2)
    _wait_in([f"pool{number}" for number in range(4)])

    assert values(reading.work_without_worker)["punctual_due_without_worker", "other"] == 2


_DAY = timedelta(days=1)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("parts", "number"),
    [
        ({}, 1),
        ({"expires_at": 8 * _DAY}, 0),
        ({"expires_at": -_DAY}, 0),
        ({"expires_at": None}, 0),
        ({"created_at": -20 * _DAY}, 0),
        ({"last_used_at": -40 * _DAY}, 0),
        ({"last_used_at": None}, 0),
        ({"revoked_at": -_DAY}, 0),
        ({"replaced_by": uuid4()}, 0),
    ],
)
def test_keys_in_use_that_end_soon_without_a_successor_are_counted(
    parts: dict[str, Any], number: int
):
    key, _ = make_key(make_tenant())
    ends = {"created_at": -60 * _DAY, "expires_at": 6 * _DAY, "last_used_at": -_DAY, **parts}
    now = database_now()
    ApiKey.objects.filter(pk=key.pk).update(
        **{
            name: now + value if isinstance(value, timedelta) else value
            for name, value in ends.items()
        }
    )

    assert values(reading.backlogs)["punctual_api_keys_ending",] == number


def test_the_first_end_of_a_certificate_is_that_of_a_live_worker_of_ours():
    heartbeats.beat("without", {"pool": "gpu", "slots": 4, "certificate_ends_at": None})
    name = ("punctual_client_certificate_end_timestamp_seconds",)
    assert name not in values(reading.workers)

    silent: Any = {"pool": "gpu", "patience": 0.0, "certificate_ends_at": 1.0}
    theirs: Any = {"pool": "pull.x", "tenant": "1", "certificate_ends_at": 2.0}
    heartbeats.beat("silent", silent)
    heartbeats.beat("theirs", theirs)
    for worker, end in (("later", 5e9), ("first", 4e9)):
        heartbeats.beat(worker, {"pool": "gpu", "slots": 4, "certificate_ends_at": end})

    assert values(reading.workers)[name] == 4e9


def test_the_clock_that_is_off_most_is_told():
    assert values(reading.guards)["punctual_clock_skew_seconds",] == 0.0

    now = client().time()[0]
    for process, seconds in (("a", 0.3), ("b", -2.5)):
        client().hset(CLOCKS_KEY, process, orjson.dumps([seconds, now]).decode())

    assert values(reading.guards)["punctual_clock_skew_seconds",] == 2.5


def test_refused_writes_are_told_by_kind():
    client().hset(REFUSED_KEY, "outcomes", 3)

    found = values(reading.guards)

    assert found["punctual_refused_writes_total", "outcomes"] == 3
    assert found["punctual_refused_writes_total", "starts"] == 0
    assert found["punctual_circuits", "open"] == 0


def test_spans_are_told_by_what_became_of_them():
    client().hset(SPANS_KEY, "dropped", 3)

    found = values(reading.spans)

    assert found["punctual_spans_total", "dropped"] == 3
    assert found["punctual_spans_total", "sent"] == 0


def test_without_a_recorder_nothing_waits():
    found = values(reading.outcome_stream)

    assert found["punctual_recorders",] == 0
    assert found["punctual_outcomes_waiting", "unread"] == 0
    assert found["punctual_outcome_lag_seconds",] == 0.0
