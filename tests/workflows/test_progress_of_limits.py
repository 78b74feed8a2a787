"""Tenants with every limit at once: whatever happened, all ends that nothing explains.

Drawn from a seed: workflows within workflows with gates and keys, plain tasks that share the keys,
limits of runs and steps, pauses, cancels, failures, and schedulers that take over. The oracle knows
no limit: in the end all has ended, once every pause is over; and no limit was ever exceeded.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F

from executions.changes import cancellation, changing
from executions.holds import HOLDS
from executions.models import Execution, WorkflowRun
from shared.exceptions import Conflict
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant, once, prepare
from tests.support.child_runs import runs
from tests.support.limits_world import ask, end_all, limit, queueing, rest, take_turns, waiting
from tests.support.workflows import calls, make_workflow
from workflows.control import pause_run, resume_run

pytestmark = pytest.mark.django_db
#: More by the environment, for a long look.
SEEDS = int(os.environ.get("PROGRESS_SEEDS", "8"))
_TURNS, _ACTIONS = 12, 3
_KEYS = ("a", "b")


class World:
    """One tenant and what happens to it, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.tenant: Tenant = make_tenant(f"World {seed}")
        self.paused: set[UUID] = set()
        self.limits = {
            name: self.random.randint(1, 3) for name in ("runs_in_flight", "steps_in_flight")
        }
        limit(self.tenant, **self.limits)
        self.flows = list(self._flows())
        self.plain = [
            make_task(self.tenant, once(name=f"plain {n}", concurrency=self._key()))
            for n in range(3)
        ]
        prepare()
        # The clock stands still in a test: what it makes later is due after these.
        Execution.objects.update(due_at=F("due_at") - timedelta(hours=1))

    def _flows(self) -> Iterator[Task]:
        made: list[Task] = []
        for number in range(5):
            steps = [calls("first")]
            for place, inner in enumerate(self.random.sample(made, min(len(made), 2))):
                steps.append(runs(f"sub{place}", inner, *self.random.choice([(), ("first",)])))
            parts: dict[str, Any] = {"name": f"flow {number}"}
            if self.random.random() < 0.6:
                parts["concurrency"] = self._key()
            if self.random.random() < 0.5:
                parts["schedule"] = queueing(self.random.randint(1, 2))
            made.append(make_workflow(self.tenant, steps, **parts))
            yield made[-1]

    def _key(self) -> dict[str, Any]:
        if self.random.random() < 0.2:
            return {"key": self.random.choice(_KEYS), "order": "fifo"}
        return {"key": self.random.choice(_KEYS), "max": self.random.randint(1, 2)}

    def act(self) -> None:
        """Do one thing that a person or a program may do."""
        asks = (self._ask,) * 3
        others = (self._pause, self._resume, self._cancel, self._pause_run, self._resume_run)
        action = self.random.choice((*asks, *others, self._raise))
        # It has ended, or is so already.
        with suppress(Conflict):
            action()

    def _ask(self) -> None:
        ask(self.random.choice([*self.flows, *self.plain]))

    def _pause(self) -> None:
        task = self.random.choice(self.flows)
        changing.pause_task(self.tenant.id, task.id, Pause(), actor=ACTOR)
        self.paused.add(task.id)

    def _resume(self) -> None:
        for task_id in sorted(self.paused)[:1]:
            changing.resume_task(self.tenant.id, task_id, actor=ACTOR)
            self.paused.discard(task_id)

    def _cancel(self) -> None:
        open_ = Execution.objects.filter(status__in=["PENDING", "RUNNING"], step__isnull=True)
        if found := self._one_of(open_.order_by("id").values_list("id", flat=True)):
            cancellation.cancel_execution(self.tenant.id, found, actor=ACTOR)

    def _pause_run(self) -> None:
        if found := self._one_of(WorkflowRun.objects.order_by("id").values_list("id", flat=True)):
            pause_run(self.tenant.id, found, actor=ACTOR)

    def _resume_run(self) -> None:
        paused = WorkflowRun.objects.filter(phase="paused").order_by("id")
        if found := self._one_of(paused.values_list("id", flat=True)):
            resume_run(self.tenant.id, found, actor=ACTOR)

    def _raise(self) -> None:
        name = self.random.choice(sorted(self.limits))
        self.limits[name] += self.random.randint(0, 1)
        limit(self.tenant, **self.limits)

    def _one_of(self, ids: Any) -> UUID | None:
        found = list(ids)
        return self.random.choice(found) if found else None

    def check(self) -> None:
        """Assert that no limit of keys and gates is exceeded."""
        taken = Counter(
            Execution.objects.filter(key_place__gt=0).values_list("concurrency_key", flat=True)
        )
        assert all(count <= 2 for count in taken.values()), taken
        waits = Execution.objects.filter(status="PENDING", held=True, reason="tenant_limit")
        assert not waits.filter(pool="workflow", key_place__gte=0).exists()

    def end_pauses(self) -> None:
        """Let everything go on."""
        for task_id in sorted(self.paused):
            changing.resume_task(self.tenant.id, task_id, actor=ACTOR)
        for run_id in WorkflowRun.objects.filter(phase="paused").values_list("id", flat=True):
            resume_run(self.tenant.id, run_id, actor=ACTOR)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_after_its_chance_all_has_ended_or_waits_for_what_the_page_explains(
    seed: int, on_commit: Any
):
    world = World(seed)
    explained = {one.reason for one in HOLDS}
    for _ in range(_TURNS):
        with on_commit(execute=True):
            for _ in range(world.random.randint(0, _ACTIONS)):
                world.act()
        take_turns()
        end_all(lambda row: world.random.choice(["SUCCEEDED", "SUCCEEDED", "FAILED"]))
        world.check()
        assert {reason for _, reason in waiting()} <= explained

    with on_commit(execute=True):
        world.end_pauses()
    rest()

    assert not waiting()
