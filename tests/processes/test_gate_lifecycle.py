"""Overlap policies on a receiver that is slower than the schedule: never two requests at once."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from executions.models import Execution, PartitionLease
from tasks.models import Task
from tests.factories import every_second, make_task, make_tenant
from tests.support.processes import Processes
from tests.support.waiting import until

pytestmark = pytest.mark.slow

SLOW_MS = 2500
ONE_ATTEMPT = {"max_attempts": 1}


def ended(task: Task, reason: str = "", *statuses: str) -> list[Execution]:
    found = Execution.objects.filter(task_id=task.id, status__in=statuses, reason=reason)
    return list(found.order_by("id"))


def runs(task: Task) -> list[Any]:
    """Return start and end of every run that has ended, in order of their starts."""
    found = Execution.objects.filter(
        task_id=task.id, started_at__isnull=False, finished_at__isnull=False
    )
    return list(found.order_by("started_at").values_list("started_at", "finished_at"))


def test_no_policy_ever_runs_two_at_once(run: Processes) -> None:
    receiver = run.receiver()
    for kind in ("scheduler", "recorder", "worker"):
        run.start(kind)
    # Without a scheduler the instants of the first seconds would be missed.
    until(lambda: not PartitionLease.objects.filter(owner=None).exists())
    tenant = make_tenant()
    tasks = {
        policy: make_task(
            tenant,
            every_second(
                name=policy,
                schedule={"every": "PT1S", "overlap_policy": policy},
                target={"url": receiver.url(f"/slow?ms={SLOW_MS}&policy={policy}")},
                retry_policy=ONE_ATTEMPT,
            ),
        )
        for policy in ("skip", "queue_one", "queue_all", "cancel_running")
    }
    until(lambda: len(ended(tasks["skip"], "", "SUCCEEDED")) >= 3)
    until(lambda: len(ended(tasks["queue_one"], "", "SUCCEEDED")) >= 3)
    until(lambda: len(ended(tasks["queue_all"], "", "SUCCEEDED")) >= 3)
    # Some are cancelled before they start where starting takes long.
    until(
        lambda: (
            len(ended(tasks["cancel_running"], "overlap_cancelled", "CANCELLED")) >= 4
            and len(runs(tasks["cancel_running"])) >= 3
        )
    )

    for task in tasks.values():
        found = runs(task)
        assert len(found) >= 3
        assert all(began >= before_ended for (_, before_ended), (began, _) in pairwise(found))
    for policy in ("skip", "queue_one", "queue_all"):
        arrivals = [line["wall_ns"] for line in receiver.lines() if policy in line["path"]]
        gaps = [(later - earlier) / 1e6 for earlier, later in pairwise(arrivals)]
        assert min(gaps) >= SLOW_MS
    assert ended(tasks["skip"], "overlap_skipped", "SKIPPED")
    assert ended(tasks["queue_one"], "overlap_skipped", "SKIPPED")
    assert not Execution.objects.filter(task_id=tasks["queue_all"].id, status="SKIPPED").exists()
    # Never early, and none twice.
    assert not Execution.objects.filter(start_delay_ms__lt=0).exists()
    assert max(Counter(line["webhook_id"] for line in receiver.lines()).values()) == 1
