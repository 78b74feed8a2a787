from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from events import audit
from executions.loop.clocks import database_now
from executions.models import PartitionLease
from insight.explain.evidence import (
    Situation,
    end_of_pause,
    horizon_end,
    name_of,
    standing_pause_of,
)
from shared import tenant_scope
from shared.actor import Actor
from shared.conf import conf
from tasks.models import Pause, Task
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.insight.explain.cast import (
    HOUR,
    MINUTE,
    SECOND,
    minutely,
    owned,
    row,
    this_minute,
    working,
)
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db


def of_row(tenant: Tenant, status: str = "PENDING", **fields: object) -> Situation:
    task = minutely(tenant)
    found = row(task, this_minute(-MINUTE), status, **fields)
    return Situation(task, found.scheduled_for, database_now(), found)


def test_without_a_row_everything_about_it_is_empty(alpha: Tenant):
    found = Situation(minutely(alpha), this_minute(MINUTE), database_now(), None)

    assert (found.status, found.reason, found.attempts) == ("", "", [])
    assert not any((found.final, found.waiting, found.started, found.is_span, found.passed))
    assert (found.letter, found.job) == (None, None)
    assert found.due_at == this_minute(MINUTE)
    assert found.change("task.paused", kind="execution") == ""


def test_the_owner_of_a_partition_is_named(alpha: Tenant):
    owned()

    owner = of_row(alpha).owner

    assert (owner.name, owner.epoch) == ("scheduler-1@host", 41)


def test_a_partition_without_a_lease_has_nobody(alpha: Tenant):
    PartitionLease.objects.all().delete()

    assert of_row(alpha).owner.owner is None


def test_room_counts_what_is_in_flight(alpha: Tenant):
    working(slots=4)
    found = of_row(alpha, "RUNNING")

    assert found.pool_room is not None
    assert (found.pool_room.room, found.pool_room.in_flight) == (4, 1)
    assert [worker.id for worker in found.pool_room.workers] == ["worker-1@host:1"]


def test_room_counts_what_all_tenants_have_in_flight_in_the_pools_that_they_share(
    alpha: Tenant, beta: Tenant
):
    working(slots=4)
    of_row(beta, "RUNNING")
    found = of_row(alpha, "RUNNING")

    with tenant_scope.of_request():
        tenant_scope.enter(alpha.id)
        assert found.pool_room is not None
        assert found.pool_room.in_flight == 2


def test_without_redis_room_is_not_known(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)

    assert of_row(alpha).pool_room is None


def test_jitter_moves_what_is_due(alpha: Tenant):
    task = minutely(alpha, {"jitter_seconds": 30})
    found = Situation(task, this_minute(MINUTE), database_now(), None)

    assert SECOND * 0 <= found.due_at - found.at < 30 * SECOND


def test_who_changed_something_is_named_up_to_a_moment(alpha: Tenant):
    user = User.objects.create_user("ann")
    found = of_row(alpha)
    audit.record(alpha.id, ACTOR, "task.paused", "task", found.task.pk)
    audit.record(alpha.id, Actor(f"user:{user.pk}"), "task.paused", "task", found.task.pk)

    assert found.change("task.paused") == "ann"
    assert found.change("task.resumed", "task.paused") == "ann"
    assert found.change("task.paused", until=this_minute(-HOUR)) == ""


@pytest.mark.parametrize(
    ("actor", "name"),
    [
        ("system", "the scheduler"),
        ("command", "a command"),
        ("command:ada", "a command of ada"),
        ("api_key:abc", "api_key:abc"),
        ("user:987654", "user:987654"),
        ("user:x", "user:x"),
    ],
)
def test_actors_have_names_for_people(db: None, actor: str, name: str):
    assert name_of(actor) == name


def test_a_pause_ends_by_itself_or_with_the_one_that_holds_it(alpha: Tenant):
    until = this_minute(HOUR)
    standing = Pause.objects.create(tenant=alpha, scope="tenant", until=until, created_by="x")
    own = Task(tenant=alpha, paused_until=this_minute(MINUTE))
    held = Task(tenant=alpha, pause_id=standing.pk)

    assert end_of_pause(own, standing_pause_of(own)) == this_minute(MINUTE)
    assert end_of_pause(held, standing_pause_of(held)) == until


def test_another_tenants_pause_is_not_read(alpha: Tenant, beta: Tenant):
    standing = Pause.objects.create(tenant=beta, scope="tenant", created_by="x")

    assert standing_pause_of(Task(tenant=alpha, pause_id=standing.pk)) is None


def test_the_horizon_is_what_schedulers_prepare(db: None):
    now = database_now()

    assert (horizon_end(now) - now).total_seconds() == conf().horizon_seconds
