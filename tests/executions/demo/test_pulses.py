"""The pulses fire every second between two instants, and are the same tasks each time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.demo import pulses
from executions.loop.clocks import database_now
from receiver.answers import Answers
from receiver.messages import Request
from shared.backoff import delay_seconds
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.schedules.spec import parse
from tests.factories import ACTOR

pytestmark = pytest.mark.django_db


def fire(tenant, begins_in: int) -> list[Task]:
    now = database_now()
    first = now.replace(microsecond=0) + timedelta(seconds=begins_in)
    last = first + timedelta(seconds=4)
    ids = pulses.fire(tenant.id, first, last, actor=ACTOR, now=now)
    found = Task.objects.in_bulk(ids)
    for task in found.values():
        known = read_definition(task)
        instants = parse(known.type, known.schedule).between(now, last + timedelta(days=1), 99)
        assert [one.at for one in instants] == [first + timedelta(seconds=n) for n in range(5)]
    return [found[one] for one in ids]


def test_a_second_break_fires_the_pulses_of_the_first(demo):
    tenant, _ = demo

    made = fire(tenant, 2)
    again = fire(tenant, 60)

    assert len(made) == pulses.COUNT
    assert [one.id for one in again] == [one.id for one in made]
    assert [one.version for one in again] == [2] * pulses.COUNT
    assert set(pulses.of_tenant(tenant.id)) == set(made)
    assert all(one.cursor.next_run_at is not None for one in again)


def test_a_pulse_catches_up_all_and_outlives_the_longest_fault(demo):
    tenant, _ = demo

    known = read_definition(fire(tenant, 2)[0])

    assert known.schedule["misfire_policy"] == "replay"
    policy = known.retry_policy
    waits = [
        delay_seconds(policy, number, lambda: 0.0) for number in range(1, policy["max_attempts"])
    ]
    assert sum(waits) > 20
    path = known.target["url"].rpartition("/")[2]
    assert Answers().answer(Request("POST", f"/{path}")).delay_ms == pulses.CALL_MS > 1000
