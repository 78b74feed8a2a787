from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import DataError, IntegrityError

from executions.loop.clocks import database_now
from shared.actor import Actor
from shared.conf import conf
from shared.exceptions import InvalidInput, QuotaExceeded, TooLarge
from shared.ids import new_id
from tasks import bulk, creation
from tasks.calendars import limits_of
from tasks.creation import write_tasks
from tasks.models import Pause, Task
from tenants.services import change_quotas
from tests.factories import ACTOR, daily, make_task, once
from tests.support.calendars import make_calendar, under
from tests.tasks.bodies import LIMITS, NOW

BAD = daily(priority=77)


@pytest.fixture
def call(alpha):
    return bulk.Call(alpha.id, ACTOR, NOW, LIMITS)


def test_results_come_in_the_order_of_the_bodies(call):
    bodies = [daily(name=str(n)) if n % 3 else BAD for n in range(450)]

    results = list(bulk.create_each(bodies, call))

    shown = [r.definition.name if isinstance(r, bulk.Created) else None for r in results]
    assert shown == [str(n) if n % 3 else None for n in range(450)]
    assert all(isinstance(results[n], InvalidInput) for n in range(0, 450, 3))
    assert Task.objects.count() == 300
    assert {r.task.name for r in results if isinstance(r, bulk.Created)} == set(
        Task.objects.values_list("name", flat=True)
    )


def test_what_only_the_database_refuses_spares_the_others(call, monkeypatch):

    def refuse_one(prepared, **options):
        if any(task.name == "bad" for task in prepared.tasks):
            raise DataError("out of range")
        return write_tasks(prepared, **options)

    monkeypatch.setattr(bulk, "write_tasks", refuse_one)
    bodies = [daily(name=name) for name in ("a", "bad", "b")]

    results = list(bulk.create_each(bodies, call))

    assert isinstance(results[1], DataError)
    assert sorted(Task.objects.values_list("name", flat=True)) == ["a", "b"]


def test_all_are_created(call):
    results = list(bulk.create_all([daily()] * 250, call))

    assert len(results) == Task.objects.count() == 250


def test_all_are_refused_with_the_place_of_each_error(call):
    with pytest.raises(InvalidInput) as refused:
        list(bulk.create_all([daily(), BAD, {}], call))

    pointers = {error.pointer for error in refused.value.errors}
    assert {"#/tasks/1/priority", "#/tasks/2/schedule", "#/tasks/2/target"} <= pointers


def test_one_payload_too_large_refuses_all(call):
    with pytest.raises(TooLarge):
        list(bulk.create_all([daily(payload="x" * conf().payload_bytes)], call))


def test_of_several_calls_each_gets_its_own_task_or_refusal(call):
    other = Actor("api_key:other")
    asked = [
        (call, once(name="a")),
        (call, BAD),
        (replace(call, actor=other), once(name="b")),
        (call, "no object"),
    ]

    results = bulk.create_for_each(asked)

    tasks = [result.task for result in results if isinstance(result, bulk.Created)]
    assert [isinstance(result, bulk.Created) for result in results] == [True, False, True, False]
    assert [task.name for task in tasks] == ["a", "b"]
    assert [task.revisions.get().changed_by for task in tasks] == [ACTOR.name, other.name]


def test_of_several_calls_none_may_be_valid(call):
    assert all(isinstance(result, InvalidInput) for result in bulk.create_for_each([(call, {})]))
    assert not Task.objects.exists()


def test_the_next_chunk_is_read_while_the_database_writes_one(alpha, monkeypatch):
    monkeypatch.setattr(bulk, "_CHUNK", 1)
    make_calendar(alpha)
    call = bulk.Call(alpha.id, ACTOR, NOW, limits_of(alpha.id))

    # What the second one names is asked of the database then.
    results = list(bulk.create_each([once(), under("Holidays"), under("Unknown"), once()], call))

    assert [isinstance(result, bulk.Created) for result in results] == [True, True, False, True]
    assert Task.objects.count() == 3


def test_a_chunk_that_the_database_refuses_does_not_harm_the_next_one(alpha, monkeypatch):
    monkeypatch.setattr(bulk, "_CHUNK", 2)
    make_calendar(alpha)
    call = bulk.Call(alpha.id, ACTOR, NOW, limits_of(alpha.id))
    same = new_id()
    ids = iter([same, same, same, same, new_id(), new_id()])
    monkeypatch.setattr(creation, "new_ids", lambda count: [next(ids) for _ in range(count)])
    bodies = [once(name="a"), once(name="b"), under("Holidays"), daily(name="c")]

    results = list(bulk.create_each(bodies, call))

    assert isinstance(results[1], IntegrityError)
    assert [isinstance(result, bulk.Created) for result in results] == [True, False, True, True]
    assert Task.objects.count() == 3


def test_a_task_is_shown_as_it_is_once_a_pause_has_it(alpha):
    pause = Pause.objects.create(
        tenant=alpha, scope="label", value="team:a", created_by="x", created_at=NOW
    )

    def show(task, definition):
        return (definition.name, task.status, task.pause_id)

    call = bulk.Call(alpha.id, ACTOR, NOW, LIMITS, show)
    bodies = [once(name="held", labels={"team": "a"}), once(name="free", labels={"team": "b"})]

    results = list(bulk.create_all(bodies, call))

    assert [r.shown for r in results if isinstance(r, bulk.Created)] == [
        ("held", "PAUSED", pause.id),
        ("free", "SCHEDULED", None),
    ]


def test_of_calls_beside_each_other_as_many_pass_as_the_quota_has_places(alpha, monkeypatch):
    monkeypatch.setattr("tasks.quotas._APART_SECONDS", 0.0)
    make_task(alpha)
    change_quotas(alpha.id, actor=ACTOR, limits={"stored_tasks": 3})
    now = database_now()
    call = bulk.Call(alpha.id, ACTOR, now, limits_of(alpha.id))
    wrong = {"name": "x"}

    results = bulk.create_for_each([(call, one) for one in (once(), wrong, once(), once(), once())])

    kinds = [getattr(one, "code", "made") for one in results]
    assert kinds == ["made", "invalid", "made", "quota_exceeded", "quota_exceeded"]
    assert Task.objects.for_tenant(alpha.id).count() == 3


def test_of_calls_beside_each_other_as_many_pass_as_the_rate_allows(alpha, monkeypatch):
    left = [None, QuotaExceeded(), None, QuotaExceeded()]

    def spend(tenant_id, tasks):
        assert (tenant_id, tasks) == (alpha.id, 1)
        if (refusal := left.pop(0)) is not None:
            raise refusal

    monkeypatch.setattr("tasks.quotas.spend", spend)
    call = bulk.Call(alpha.id, ACTOR, database_now(), limits_of(alpha.id))

    results = bulk.create_for_each([(call, once()) for _ in range(4)])

    kinds = [getattr(one, "code", "made") for one in results]
    assert kinds == ["made", "quota_exceeded", "made", "quota_exceeded"]
