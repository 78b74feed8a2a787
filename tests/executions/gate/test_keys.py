"""Concurrency keys: how many run beside each other, in which order, what frees a place."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from django.db.models import F

from executions import transitions
from executions.changes import changing
from executions.gate import keys
from executions.gate.keys import Due, Key, Seen, admitted
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.triggering.triggers import run_task
from shared.conf import conf
from shared.ids import new_id
from shared.sql import run
from tasks.limits import current_limits
from tasks.models import Task
from tasks.transitions import Pause
from tasks.validation.bodies import parse_patch
from tasks.versions import FIRST_REDIRECTED
from tenants.models import Tenant
from tests.executions.gate.gated import make_look as gate_look
from tests.executions.gate.key_world import FIFO, KEY, at_most, begin, make, row_of
from tests.executions.gate.key_world import look as look_once
from tests.factories import (
    ACTOR,
    every_second,
    executions_of,
    finish,
    make_task,
    make_tenant,
    prepare,
    release,
)
from wire.messages import Claimed

pytestmark = pytest.mark.django_db

Look = Callable[[], Counts]
HOUR = timedelta(hours=1)


@pytest.fixture
def look() -> Look:
    return make_look(Seen())


def make_look(seen: Seen) -> Look:
    return lambda: look_once(seen)


def places(tasks: Iterable[Task]) -> list[int | None]:
    return [row.key_place for task in tasks for row in executions_of(task)]


# --- the decision ------------------------------------------------------------------------------


def due(most: int) -> Due:
    return Due(new_id(), database_now(), most, False, 0)


def test_each_obeys_its_own_number_and_none_passes_one_before_it():
    one, three, third = due(1), due(3), due(3)

    assert admitted(0, [one, three, third]) == [one, three, third]
    assert admitted(1, [three, one, third]) == [three]
    assert admitted(1, [one, three]) == []
    assert admitted(3, [three]) == []


# --- any ---------------------------------------------------------------------------------------


def test_no_more_of_a_key_are_handed_out_than_its_number(alpha: Tenant, look: Look):
    tasks = make(alpha, 5, at_most(2))
    assert release() == []

    assert look().done == 2

    assert places(tasks) == [1, 1, 0, 0, 0]
    assert len(begin()) == 2
    assert look().done == 0


@pytest.mark.parametrize("end", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_each_end_frees_a_place(alpha: Tenant, look: Look, end: str):
    tasks = make(alpha, 3, at_most(1))
    look()
    (first,) = begin()

    finish(first, end)

    assert look().done == 1
    assert places(tasks[1:]) == [1, 0]


def test_another_key_and_another_tenants_key_are_apart(alpha: Tenant, beta: Tenant, look: Look):
    make(alpha, 2, at_most(1))
    make(beta, 2, at_most(1))
    make(alpha, 2, {"key": "other"})

    assert look().done == 3


def test_a_failed_attempt_gives_its_place_to_the_next_until_it_is_tried_again(
    alpha: Tenant, look: Look
):
    tasks = make(alpha, 2, at_most(1))
    look()
    (first,) = begin()

    finish(first, "RETRYING", retry_in=3600.0)
    assert look().done == 1
    assert places(tasks) == [0, 1]

    (second,) = begin()
    Execution.objects.filter(pk=first.id).update(due_at=F("due_at") - 2 * HOUR)
    assert (look().done, release()) == (0, [])
    finish(second)
    assert look().done == 1
    assert [row.id for row in release()] == [first.id]


def test_work_that_waited_is_due_when_it_gets_its_place(alpha: Tenant, look: Look):
    tasks = make(alpha, 2, at_most(1))
    before = row_of(tasks[1])
    look()
    (first,) = begin()
    look()
    finish(first)

    look()

    after = row_of(tasks[1])
    assert after.due_at > before.due_at
    assert after.scheduled_for == before.scheduled_for


def test_a_run_by_hand_and_a_backfilled_instant_wait_too(alpha: Tenant, look: Look):
    [task] = make(alpha, 1, at_most(1))
    run_task(alpha.id, task.id, None, actor=ACTOR)

    assert look().done == 1
    assert set(places([task])) == {0, 1}


def test_instants_of_a_schedule_share_the_key(alpha: Tenant, look: Look):
    task = make_task(alpha, every_second(concurrency=at_most(3)))
    prepare()
    Execution.objects.filter(task_id=task.id).update(due_at=F("due_at") - HOUR)

    assert look().done == 3


def test_the_overlap_policy_decides_first_and_the_key_after_it(alpha: Tenant, look: Look):
    schedule = {"every": "PT1S", "overlap_policy": "queue_all"}
    task = make_task(alpha, every_second(schedule=schedule, concurrency=at_most(1)))
    prepare()
    Execution.objects.filter(task_id=task.id).update(due_at=F("due_at") - HOUR)
    assert look().done == 0

    gate_look()()

    assert look().done == 1
    [admitted_row] = Execution.objects.filter(task_id=task.id, key_place=1)
    assert (admitted_row.gated, admitted_row.counted, admitted_row.held) == (False, True, False)


# --- strictly in order -------------------------------------------------------------------------


def test_in_order_the_next_waits_for_the_retry_of_the_one_before(alpha: Tenant, look: Look):
    tasks = make(alpha, 3, FIFO)
    look()
    (first,) = begin()

    finish(first, "RETRYING", retry_in=3600.0)
    assert look().done == 0
    assert places(tasks) == [2, 0, 0]

    Execution.objects.filter(pk=first.id).update(due_at=F("due_at") - 2 * HOUR)
    (again,) = begin()
    assert again.id == first.id
    finish(again, "FAILED")
    assert look().done == 1
    assert [row.task_id for row in release()] == [tasks[1].id]


def test_in_order_goes_by_due_time_and_then_by_the_tasks_creation(alpha: Tenant, look: Look):
    tasks = make(alpha, 4, FIFO)
    Execution.objects.filter(tenant_id=alpha.id).update(due_at=database_now() - HOUR)
    ran = []
    for _ in tasks:
        look()
        (row,) = begin()
        ran.append(row.task_id)
        finish(row)

    assert ran == [task.id for task in tasks]


def test_a_cancelled_one_lets_the_next_go(alpha: Tenant, look: Look):
    tasks = make(alpha, 2, FIFO)
    look()
    changing.cancel_task(alpha.id, tasks[0].id, actor=ACTOR)

    assert look().done == 1
    assert places(tasks[1:]) == [2]


def test_a_lost_hand_out_keeps_the_place(alpha: Tenant, look: Look):
    tasks = make(alpha, 2, FIFO)
    look()
    (first,) = release()
    transitions.withdraw([(first.id, first.token)])

    assert look().done == 0
    assert [row.task_id for row in release()] == [tasks[0].id]


# --- pauses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [at_most(1), FIFO])
def test_a_paused_task_delays_no_other_of_the_key(
    alpha: Tenant, look: Look, shared: dict[str, Any]
):
    first, second = make(alpha, 2, shared)
    look()

    changing.pause_task(alpha.id, first.id, Pause(), actor=ACTOR)

    assert places([first]) == [-1]
    assert look().done == 1
    assert [row.task_id for row in release()] == [second.id]

    changing.resume_task(alpha.id, first.id, actor=ACTOR)
    assert (places([first]), release()) == ([0], [])
    assert row_of(first).held


def test_resuming_does_not_pass_by_the_key(alpha: Tenant, look: Look):
    _, second = make(alpha, 2, at_most(1))
    changing.pause_task(alpha.id, second.id, Pause(), actor=ACTOR)
    look()
    begin()

    changing.resume_task(alpha.id, second.id, actor=ACTOR)

    assert (look().done, release()) == (0, [])


def test_a_retry_that_follows_under_a_pause_stays_on_hold(alpha: Tenant, look: Look):
    first, second = make(alpha, 2, at_most(1))
    look()
    (row,) = begin()
    changing.pause_task(alpha.id, first.id, Pause(), actor=ACTOR)

    finish(row, "RETRYING", retry_in=0.0)

    assert places([first, second]) == [-1, 0]
    assert look().done == 1


def test_a_paused_retry_that_has_its_place_again_gives_it_back(alpha: Tenant, look: Look):
    first, second = make(alpha, 2, at_most(1))
    look()
    (row,) = begin()
    later = Execution.objects.filter(task_id=second.id)
    later.update(due_at=F("due_at") + HOUR)
    finish(row, "RETRYING", retry_in=0.0)
    assert look().done == 1
    assert (row_of(first).status, places([first])) == ("RETRYING", [1])

    changing.pause_task(alpha.id, first.id, Pause(), actor=ACTOR)
    later.update(due_at=F("due_at") - HOUR)

    assert places([first]) == [-1]
    assert look().done == 1


def suspend_task(task: Task) -> None:
    """Hold the work of a tenant as its suspension does."""
    ids = [row.id for row in executions_of(task)]
    run("pausing/hold_other_work", {"ids": ids})
    run("pausing/release_suspended_work", {"ids": ids, "limited": False})


def pause_task(task: Task) -> None:
    changing.pause_task(task.tenant_id, task.id, Pause(), actor=ACTOR)
    changing.resume_task(task.tenant_id, task.id, actor=ACTOR)


@pytest.mark.parametrize("interrupt", [pause_task, suspend_task])
def test_what_gave_its_place_back_for_a_pause_goes_before_what_was_due_later(
    alpha: Tenant, look: Look, interrupt: Callable[[Task], None]
):
    tasks = make(alpha, 3, FIFO)
    look()
    (first,) = begin()
    look()
    finish(first)
    look()
    # It had to wait, and is due later than what waits for it.
    assert places(tasks[1:]) == [2, 0]
    assert row_of(tasks[1]).due_at > row_of(tasks[2]).due_at

    interrupt(tasks[1])
    assert places(tasks[1:]) == [0, 0]

    look()
    assert places(tasks[1:]) == [2, 0]


# --- changes -----------------------------------------------------------------------------------


def edit(task: Task, **parts: Any) -> None:
    changing.edit_task(
        task.tenant_id,
        task.id,
        lambda current, now: parse_patch(current, parts, now=now, limits=current_limits()),
        actor=ACTOR,
    )


def test_an_edit_moves_prepared_work_under_the_key_and_from_it(alpha: Tenant, look: Look):
    task = make_task(alpha, every_second())
    prepare()
    assert set(places([task])) == {None}

    edit(task, concurrency=at_most(1))
    assert set(places([task])) == {0}
    edit(task, concurrency={"key": "other"})
    assert {row.concurrency_key for row in executions_of(task)} == {"other"}

    edit(task, concurrency=None)
    rows = executions_of(task)
    assert {(row.concurrency_key, row.key_place, row.held) for row in rows} == {(None, None, False)}


def test_an_edit_of_a_paused_task_leaves_its_work_on_hold(alpha: Tenant, look: Look):
    [task] = make(alpha, 1, at_most(1))
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    edit(task, concurrency={"key": "other"})

    assert (places([task]), row_of(task).held) == ([-1], True)
    edit(task, concurrency=None)
    assert (places([task]), row_of(task).held) == ([None], True)


def test_work_that_comes_to_the_gate_by_an_edit_gives_its_place_back(alpha: Tenant, look: Look):
    every = {"every": "PT1S"}
    task = make_task(alpha, every_second(schedule=every, concurrency=at_most(1)))
    prepare()
    Execution.objects.filter(task_id=task.id).update(due_at=F("due_at") - HOUR)
    look()
    (row,) = begin()
    finish(row, "RETRYING", retry_in=3600.0)
    look()
    Execution.objects.filter(pk=row.id).update(due_at=F("due_at") - 2 * HOUR)
    assert places([task])[:2] == [0, 1]

    edit(task, schedule={**every, "overlap_policy": "queue_all"})

    # The second waits for the first at the gate, and the first for the key.
    assert places([task])[:2] == [0, 0]
    gate_look()()
    assert look().done == 1
    assert [one.id for one in release()] == [row.id]


def test_an_edit_from_the_gate_to_the_key_leaves_paused_work_on_hold(alpha: Tenant, look: Look):
    every = {"every": "PT1S"}
    task = make_task(alpha, every_second(schedule={**every, "overlap_policy": "queue_all"}))
    prepare()
    ago = {"due_at": F("due_at") - HOUR, "scheduled_for": F("scheduled_for") - HOUR}
    Execution.objects.filter(task_id=task.id).update(**ago)
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)
    found = [one for one in executions_of(task) if one.gated]
    assert found
    Task.objects.filter(pk=task.id).update(limited=False, concurrency_key="other")

    ids = [one.id for one in found]
    run("changing/key_prepared", {"ids": ids, "redirected": FIRST_REDIRECTED})
    run("changing/gate_prepared", {"ids": ids})

    assert {(one.key_place, one.held, one.gated) for one in executions_of(task)} == {
        (-1, True, False)
    }
    assert look().done == 0


def test_an_edit_gives_no_key_to_a_run_that_a_step_waits_for(alpha: Tenant, look: Look):
    task = make_task(alpha, every_second())
    prepare()
    Execution.objects.filter(task_id=task.id).update(step=0)

    edit(task, concurrency=at_most(1))

    assert set(places([task])) == {None}


# --- looks -------------------------------------------------------------------------------------


def test_the_scheduler_of_the_work_is_told_of_a_place_that_another_gave(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    told: list[datetime | None] = []

    def tell(first: datetime | None, now: datetime) -> None:
        told.extend([first] if first else [])

    monkeypatch.setattr(keys, "wake_schedulers_from", tell)
    [task] = make(alpha, 1, at_most(1))
    own = Key(alpha.id, KEY).partition(conf().partition_count)
    partitions = cast(Partitions, SimpleNamespace(ready=[own]))
    execution = Execution.objects.filter(task_id=task.id)
    execution.update(partition=own)

    assert (keys.run_once(partitions, Seen()).done, told) == (1, [])

    execution.update(partition=(own + 1) % conf().partition_count, key_place=0, held=True)
    assert keys.run_once(partitions, Seen()).done == 1
    assert told == [row_of(task).due_at]


def test_a_key_that_a_round_of_several_looks_did_not_find_is_forgotten(alpha: Tenant):
    now = database_now()
    gone, found = Key(alpha.id, "gone"), Key(alpha.id, "found")
    seen = Seen(after=Key(UUID(int=1), ""), began=now, full={gone: now - HOUR, found: now})

    look_once(seen)

    assert seen.full == {found: now}


def test_work_ahead_is_looked_at_when_it_is_due(alpha: Tenant, look: Look):
    [task] = make(alpha, 1, at_most(1))
    Execution.objects.filter(task_id=task.id).update(due_at=database_now() + timedelta(seconds=3))

    counts = look()

    assert counts.done == 0
    assert 0.0 < counts.next_in <= 3.1


def test_many_keys_of_one_tenant_have_their_turns(
    alpha: Tenant, beta: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keys, "_CHUNK", 2)
    monkeypatch.setattr(keys, "_OF_TENANT", 4)
    for number in range(11):
        make(alpha, 1, {"key": f"k{number:02}"})
    make(beta, 1, at_most(1))

    assert look().done == 5
    assert [row.tenant_id for row in Execution.objects.filter(key_place=1)].count(beta.id) == 1
    assert [look().done for _ in range(3)] == [4, 3, 0]


def test_another_scheduler_that_has_the_key_is_not_waited_for(
    alpha: Tenant, look: Look, monkeypatch: pytest.MonkeyPatch
):
    make(alpha, 1, at_most(1))
    monkeypatch.setattr(Key, "partition", lambda self, count: count + 1)

    assert look().done == 0


# --- any order of what may happen --------------------------------------------------------------


class World:
    """Tasks of one key, and what happens to them."""

    def __init__(self, shared: dict[str, Any]) -> None:
        self.tenant = make_tenant(f"t{new_id()}")
        self.most = int(shared.get("max", 1))
        self.in_order = shared.get("order") == "fifo"
        self.shared = shared
        self.look = make_look(Seen())
        self.flying: list[Claimed] = []
        #: Executions that have ended for good, and ones that have begun, in order.
        self.ended: set[UUID] = set()
        self.begun: list[UUID] = []

    def rows(self) -> list[Execution]:
        return list(
            Execution.objects.filter(tenant_id=self.tenant.id).order_by("scheduled_for", "task_id")
        )

    def create(self, _: int) -> None:
        make(self.tenant, 1, self.shared)

    def run(self, _: int) -> None:
        line = [row.id for row in self.rows() if row.finished_at is None]
        self.look()
        for row in begin():
            self.flying.append(row)
            if row.id not in self.begun:
                # In order, only the first one of all that are open begins.
                assert not self.in_order or row.id == line[0]
                self.begun.append(row.id)

    def end(self, choice: int) -> None:
        if self.flying:
            row = self.flying.pop(choice % len(self.flying))
            status = ("SUCCEEDED", "FAILED", "CANCELLED")[choice % 3]
            finish(row, status)
            self.ended.add(row.id)

    def fail_for_now(self, choice: int) -> None:
        if self.flying:
            row = self.flying.pop(choice % len(self.flying))
            finish(row, "RETRYING", retry_in=float(choice % 2) * 3600.0)

    def lose(self, choice: int) -> None:
        """Let the worker be lost: its attempt counts, and another follows at once."""
        if self.flying:
            row = self.flying.pop(choice % len(self.flying))
            finish(row, "RETRYING", lost=1, reason="worker_lost", retry_in=0.0)

    def take_back(self, _: int) -> None:
        self.look()
        transitions.withdraw([(row.id, row.token) for row in release()])

    def cancel(self, choice: int) -> None:
        waiting = [row for row in self.rows() if row.status in ("PENDING", "RETRYING")]
        if waiting:
            row = waiting[choice % len(waiting)]
            transitions.cancel([(row.id, row.fencing_token)], "cancelled")
            self.ended.add(row.id)

    def another_scheduler(self, _: int) -> None:
        self.look = make_look(Seen())

    def check(self) -> None:
        rows = self.rows()
        assert sum((row.key_place or 0) > 0 for row in rows) <= self.most
        assert sum(row.status == "RUNNING" for row in rows) <= self.most
        if self.in_order:
            unended = [one for one in self.begun if one not in self.ended]
            assert len(unended) <= 1

    def drain(self) -> None:
        """Let all come to its end: none is stuck."""
        for _ in range(200):
            open_rows = [row for row in self.rows() if row.finished_at is None]
            if not open_rows:
                return
            Execution.objects.filter(tenant_id=self.tenant.id, status="RETRYING").update(
                due_at=database_now() - HOUR
            )
            self.run(0)
            self.check()
            while self.flying:
                self.end(0)
        raise AssertionError("work is stuck")


_MOVES = (
    *("create", "create", "run", "run", "run", "end", "fail_for_now", "lose", "take_back"),
    *("cancel", "another_scheduler"),
)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shared", [FIFO, at_most(1), at_most(3)], ids=["fifo", "one", "three"])
def test_whatever_happens_no_number_is_exceeded_and_nothing_is_stuck(
    shared: dict[str, Any], seed: int
):
    chance = random.Random(seed)
    world = World(shared)
    for _ in range(40):
        getattr(world, chance.choice(_MOVES))(chance.randrange(6))
        world.check()
    world.drain()
