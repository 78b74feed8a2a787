from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from events.models import AuditEntry, Event
from shared.actor import Actor
from shared.ids import partition_of
from tasks import creation
from tasks.models import Pause, Task, TaskRevision
from tasks.revisions import read_definition
from tasks.validation.bodies import parse_create
from tenants.models import Tenant
from tests.factories import ACTOR, daily, once, reload
from tests.tasks.bodies import LIMITS, LONG, NOW
from tests.tasks.bodies import create as read

pytestmark = pytest.mark.django_db


def definitions(*bodies: dict[str, Any]) -> list[Any]:
    return [parse_create(body, now=NOW, limits=LIMITS) for body in bodies]


def create(tenant: Tenant, *bodies: dict[str, Any]) -> list[Task]:
    return creation.create_tasks(tenant.id, definitions(*bodies), actor=ACTOR, now=NOW)


def test_what_is_returned_is_what_is_stored(alpha: Tenant):
    made = create(alpha, once(labels={"team": "ünits"}, priority=2), daily())

    for task in made:
        stored = Task.objects.get(id=task.id)
        for field in Task._meta.concrete_fields:
            assert getattr(task, field.attname) == getattr(stored, field.attname), field.name


def test_each_task_has_its_first_revision_sealed(alpha: Tenant):
    wanted = definitions(once(payload={"secret": "s3cret"}), daily(payload=[1, None]))
    made = creation.create_tasks(alpha.id, wanted, actor=ACTOR, now=NOW)

    for task, definition in zip(made, wanted, strict=True):
        assert read_definition(task) == definition
        revision = TaskRevision.objects.get(task=task)
        assert (revision.version, revision.changed_by) == (1, ACTOR.name)
        assert b"s3cret" not in bytes(revision.sealed)


def test_tasks_that_are_written_together_may_be_by_different_actors(alpha: Tenant):
    wanted = definitions(once(name="a"), once(name="b"))
    actors = [Actor("api_key:one", "192.0.2.1", "1" * 32), Actor("api_key:two")]

    creation.write_tasks(creation.prepare_tasks(alpha.id, wanted, actors=actors, now=NOW))

    revisions = TaskRevision.objects.order_by("task__name")
    assert list(revisions.values_list("changed_by", flat=True)) == ["api_key:one", "api_key:two"]
    entries = AuditEntry.objects.filter(action="task.created").order_by("sequence")
    assert [Actor(e.actor, e.address, e.trace_id) for e in entries] == actors


def test_any_number_takes_the_same_few_statements(alpha: Tenant, django_assert_num_queries: Any):
    create(alpha, once())
    # Shared pauses, tasks, events, the log's lock, the log and its entries.
    with django_assert_num_queries(6):
        create(alpha, *[once(name=str(number)) for number in range(20)])

    assert AuditEntry.objects.filter(action="task.created").count() == 21
    assert Event.objects.filter(name="task.changed").count() == 21
    assert TaskRevision.objects.count() == 21


def test_an_open_pause_takes_the_new_tasks_that_it_covers(alpha: Tenant):
    pause = Pause.objects.create(
        tenant=alpha, scope="label", value="team:a", created_by="x", created_at=NOW
    )

    held, free = create(alpha, once(labels={"team": "a"}), once(labels={"team": "b"}))

    assert (held.status, held.pause_id) == ("PAUSED", pause.id)
    assert Task.objects.get(id=held.id).status == "PAUSED"
    assert free.status == Task.objects.get(id=free.id).status == "SCHEDULED"


def test_a_caller_whose_id_is_taken_goes_on_in_its_transaction(alpha: Tenant):
    [definition] = definitions(once())
    known = uuid4()

    def make() -> None:
        creation.create_task(alpha.id, definition, actor=ACTOR, now=NOW, task_id=known)

    with transaction.atomic():
        make()
        with pytest.raises(IntegrityError):
            make()

        assert Task.objects.filter(id=known).count() == 1


def test_a_created_task_waits_for_its_first_instant(alpha):
    task = creation.create_task(alpha.id, read(LONG), actor=ACTOR, now=NOW)

    stored = reload(task)
    assert (stored.status, stored.version, stored.occurrence_count) == ("SCHEDULED", 1, 0)
    assert stored.next_run_at == datetime(2026, 11, 21, 7, tzinfo=UTC)
    assert stored.partition == partition_of(task.id, 256)
    assert (stored.name, stored.labels) == ("Daily Report", {"team": "billing"})
    assert read_definition(stored) == read(LONG)


def test_a_one_time_task_that_has_just_passed_keeps_its_instant(alpha):
    past = NOW - timedelta(minutes=5)
    task = creation.create_task(alpha.id, read(once(past)), actor=ACTOR, now=NOW)

    assert task.next_run_at == past.replace(microsecond=123000)


def test_a_task_without_any_instant_left_is_complete(alpha):
    definition = read(daily())
    definition.schedule["end_at"] = "2026-11-20T07:00:00.000Z"

    task = creation.create_task(alpha.id, definition, actor=ACTOR, now=NOW)

    assert (task.status, task.next_run_at) == ("COMPLETED", None)


def test_a_creation_goes_with_the_callers_transaction(alpha):
    with transaction.atomic():
        creation.create_task(alpha.id, read(LONG), actor=ACTOR, now=NOW)
        transaction.set_rollback(True)

    assert not Task.objects.exists()
    assert not TaskRevision.objects.exists()


def test_nothing_is_created_of_nothing(alpha):
    assert create(alpha) == []
    assert not Task.objects.exists()


@pytest.mark.parametrize(("seconds", "woken"), [(1, 1), (3600, 0)])
def test_a_near_instant_wakes_the_schedulers(alpha, on_commit, seconds, woken):
    body = once(NOW + timedelta(seconds=seconds))

    with on_commit() as callbacks:
        creation.create_task(alpha.id, read(body), actor=ACTOR, now=NOW)

    assert len(callbacks) == woken
