"""Schedulers: who holds the partitions when one stops, dies or joins."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from uuid import UUID

import pytest

from executions.models import PartitionLease, SchedulerNode
from tests.factories import every_second, executions_of, make_task, make_tenant
from tests.support.cut_link import State, cut_link
from tests.support.processes import Process, Processes
from tests.support.waiting import until

pytestmark = pytest.mark.slow

PARTITIONS = 256


def owners() -> Counter[UUID]:
    """Return how many partitions each live lease's owner holds."""
    held = PartitionLease.objects.values_list("owner", flat=True)
    return Counter(owner for owner in held if owner is not None)


def live_owners() -> Counter[UUID]:
    """Return how many partitions each owner holds whose lease runs."""
    running = PartitionLease.objects.standing()
    return Counter(owner for owner in running.values_list("owner", flat=True) if owner)


def node_of(process: Process) -> UUID:
    return until(lambda: list(SchedulerNode.objects.filter(pid=process.pid)))[0].id


def test_a_stop_releases_the_partitions_at_once(run: Processes) -> None:
    scheduler = run.start("scheduler", LOG_JSON="true")
    until(lambda: owners().total() == PARTITIONS)

    assert scheduler.stop() == 0

    assert owners().total() == 0
    assert {"partitions.changed", "scheduler.stopped"} <= {one["event"] for one in scheduler.events}


def test_two_share_and_the_survivor_of_a_crash_takes_all_after_the_lease(run: Processes) -> None:
    first, second = run.start("scheduler"), run.start("scheduler")
    nodes = {node_of(first), node_of(second)}
    until(lambda: owners().keys() == nodes and owners().total() == PARTITIONS)
    shares = owners()
    dead, alive = node_of(first), node_of(second)
    assert min(shares.values()) > PARTITIONS // 4
    task = make_task(make_tenant(), every_second())

    first.kill()
    until(lambda: owners()[alive] == PARTITIONS)

    assert dead not in owners()
    # One row per instant, whoever wrote it.
    times = [row.scheduled_for for row in until(lambda: executions_of(task))]
    assert len(times) == len(set(times))


def test_one_that_joins_takes_its_share_and_gives_it_back_when_it_stops(run: Processes) -> None:
    first = run.start("scheduler")
    until(lambda: owners().total() == PARTITIONS)
    second = run.start("scheduler")
    until(lambda: len(owners()) == 2 and owners().total() == PARTITIONS)

    assert second.stop() == 0

    # Released, not left to expire: no row names the one that has stopped.
    assert owners().keys() == {node_of(first)}
    until(lambda: owners() == {node_of(first): PARTITIONS})


@pytest.mark.parametrize("state", ["refused", "silent"])
def test_one_that_valkey_does_not_answer_hands_its_partitions_over_and_gets_them_back(
    run: Processes, tmp_path: Path, state: State
) -> None:
    address = urlsplit(run.redis_url)
    with cut_link(unquote(address.path), tmp_path / "valkey.sock") as link:
        through = urlunsplit(address._replace(path=quote(str(link.path))))
        first, second = run.start("scheduler"), run.start("scheduler", REDIS_URL=through)
        kept, cut = node_of(first), node_of(second)
        until(lambda: owners().keys() == {kept, cut} and owners().total() == PARTITIONS)

        link.become(state)
        until(lambda: live_owners() == {kept: PARTITIONS})
        link.become("open")

        until(lambda: live_owners().keys() == {kept, cut})


def test_starting_and_stopping_again_and_again_leaves_nothing(run: Processes) -> None:
    for _ in range(10):
        scheduler = run.start("scheduler")
        until(lambda: owners().total() == PARTITIONS)
        assert scheduler.stop() == 0
    assert owners().total() == 0
    assert not SchedulerNode.objects.exists()
