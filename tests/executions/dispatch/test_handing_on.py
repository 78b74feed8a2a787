"""Work that was just made goes to the workers at once, where nothing keeps it back."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from executions.destinations.limits import change_limits
from executions.dispatch import scarcity
from executions.dispatch.handing_on import Chance, HandingOn
from executions.models import Execution
from executions.ownership import fence
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.sql import rows
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.factories import ACTOR, make_execution
from tests.support.beats import beat
from tests.support.closed_redis import closed_redis
from tests.support.recording_broker import Broker
from wire import start_guard

pytestmark = pytest.mark.django_db


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def handing_on(broker: Broker) -> HandingOn:
    return HandingOn(broker.publish, active_signing_secrets)


def due(tenant: Tenant) -> Execution:
    """Return an execution that is due, and that nobody has claimed yet."""
    made = make_execution(tenant)
    # The clock of a test's transaction stands still.
    Execution.objects.filter(pk=made.pk).update(due_at=F("due_at") - timedelta(minutes=1))
    return made


def own_partitions() -> None:
    """Let a scheduler own all partitions, and live."""
    found = Partitions()
    found.run_once()
    assert len(found.ready) == conf().partition_count


def hand_on(handing_on: HandingOn, *made: Execution) -> list[Execution]:
    """Hand work on in a transaction of its own; return what the workers have."""
    own_partitions()
    return claimed(handing_on, *made)


def claimed(handing_on: HandingOn, *made: Execution) -> list[Execution]:
    chance = handing_on.chance()
    assert chance is not None
    with transaction.atomic():
        ids = claim_and_take(handing_on, {row.id: row.pool for row in made}, chance)
    return [row for row in made if row.id in ids]


def claim_and_take(handing_on: HandingOn, pools: dict[UUID, str], chance: Chance) -> set[UUID]:
    return handing_on.take(rows(*handing_on.claiming(pools, chance)), pools, chance)


def test_work_is_published_after_the_commit_under_a_token_and_a_lease(
    alpha: Tenant, handing_on: HandingOn, broker: Broker, django_capture_on_commit_callbacks: Any
):
    beat("w1")
    made = due(alpha)

    with django_capture_on_commit_callbacks(execute=True):
        assert hand_on(handing_on, made) == [made]
        assert not broker.sent

    made.refresh_from_db()
    assert (made.status, broker.queues) == ("QUEUED", ["default.normal"])
    assert [entry["token"] for entry in broker.entries] == [made.fencing_token]
    assert broker.sent[0][1]["incarnation"] == made.incarnation == start_guard.current_incarnation()
    assert made.lease_expires_at is not None


def test_the_keys_of_a_tenant_are_read_once_for_many_steps(
    alpha: Tenant, handing_on: HandingOn, broker: Broker, django_capture_on_commit_callbacks: Any
):
    beat("w1")
    steps = [due(alpha), due(alpha)]
    own_partitions()
    reads = []
    for made in steps:
        with (
            CaptureQueriesContext(connection) as asked,
            django_capture_on_commit_callbacks(execute=True),
        ):
            claimed(handing_on, made)
        reads.append(sum('"data_keys"' in str(query["sql"]) for query in asked))

    assert reads == [1, 0]
    assert len(broker.entries) == 2


@pytest.mark.parametrize(
    "kept_back",
    [{"held": True}, {"parked": True}, {"status": "RETRYING"}],
    ids=["on hold", "parked", "not new"],
)
def test_what_something_keeps_back_is_left_to_dispatch(
    alpha: Tenant, handing_on: HandingOn, kept_back: dict[str, Any]
):
    beat("w1")
    made = due(alpha)
    Execution.objects.filter(pk=made.pk).update(**kept_back)

    assert hand_on(handing_on, made) == []


def test_what_is_due_later_is_left_to_dispatch(alpha: Tenant, handing_on: HandingOn):
    beat("w1")
    made = due(alpha)
    Execution.objects.filter(pk=made.pk).update(due_at=F("due_at") + timedelta(minutes=2))

    assert hand_on(handing_on, made) == []


@pytest.mark.parametrize("limit", [{"max_in_flight": 5}, {"rate_per_second": 5.0}])
def test_a_destination_with_a_limit_is_left_to_dispatch(
    alpha: Tenant, handing_on: HandingOn, limit: dict[str, Any]
):
    beat("w1")
    made = due(alpha)
    change_limits(alpha.id, made.destination, limit, actor=ACTOR)

    assert hand_on(handing_on, made) == []


def test_what_waits_for_a_destination_is_not_overtaken(alpha: Tenant, handing_on: HandingOn):
    beat("w1")
    waits, made = due(alpha), due(alpha)
    Execution.objects.filter(pk=waits.pk).update(parked=True)

    assert hand_on(handing_on, made) == []


def test_behind_a_fence_nothing_starts(alpha: Tenant, handing_on: HandingOn):
    beat("w1")
    made = due(alpha)
    with connection.cursor() as cursor:
        fence.hold(cursor)

    assert claimed(handing_on, made) == []


def test_where_the_schedulers_were_stopped_nothing_starts(alpha: Tenant, handing_on: HandingOn):
    beat("w1")
    made = due(alpha)
    own_partitions()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE scheduler_nodes SET lease_expires_at = now()")

    assert claimed(handing_on, made) == []


def test_there_is_a_chance_only_in_pools_whose_live_workers_take_work(handing_on: HandingOn):
    assert handing_on.chance() is None

    beat("w1", draining=True)
    beat("w2", pool="gpu")

    chance = handing_on.chance()
    assert chance is not None
    assert chance.pools == {"gpu"}


def test_pools_without_workers_are_found_out_after_a_moment(
    handing_on: HandingOn, monkeypatch: pytest.MonkeyPatch
):
    beat("w1")
    assert handing_on.chance() is not None
    beat("w1", draining=True)

    monkeypatch.setattr("executions.dispatch.handing_on._KEPT_SECONDS", 3600.0)
    assert handing_on.chance() is not None
    monkeypatch.setattr("executions.dispatch.handing_on._KEPT_SECONDS", -1.0)
    assert handing_on.chance() is None


def test_there_is_no_chance_where_due_work_waits_for_capacity(handing_on: HandingOn):
    beat("w1")
    beat("w2", pool="gpu")
    scarcity.note(["default"])

    chance = handing_on.chance()

    assert chance is not None
    assert chance.pools == {"gpu"}


def test_without_redis_there_is_no_chance(handing_on: HandingOn, monkeypatch: pytest.MonkeyPatch):
    beat("w1")
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)

    assert handing_on.chance() is None


@pytest.mark.logs("dispatch.not_sent")
def test_what_the_broker_refuses_waits_again(
    alpha: Tenant, handing_on: HandingOn, broker: Broker, django_capture_on_commit_callbacks: Any
):
    beat("w1")
    made = due(alpha)
    broker.broken = True

    with django_capture_on_commit_callbacks(execute=True):
        assert hand_on(handing_on, made) == [made]

    made.refresh_from_db()
    assert made.status == "PENDING"


@pytest.mark.logs("dispatch.crashed", count=1)
def test_what_an_error_kept_from_being_sent_waits_again(
    alpha: Tenant, broker: Broker, django_capture_on_commit_callbacks: Any
):
    beat("w1")
    made = due(alpha)

    def fail(tenants: Any) -> Any:
        raise LookupError("no key")

    with django_capture_on_commit_callbacks(execute=True):
        assert hand_on(HandingOn(broker.publish, fail), made) == [made]

    made.refresh_from_db()
    assert (made.status, broker.sent) == ("PENDING", [])


@pytest.mark.logs("dispatch.not_taken_back", count=1)
def test_what_cannot_be_taken_back_keeps_its_lease(
    alpha: Tenant,
    handing_on: HandingOn,
    broker: Broker,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
):
    beat("w1")
    made = due(alpha)
    broker.broken = True

    with django_capture_on_commit_callbacks(execute=True):
        hand_on(handing_on, made)
        monkeypatch.setattr(start_guard, "client", closed_redis)

    made.refresh_from_db()
    assert made.status == "QUEUED"


def test_a_rollback_publishes_nothing(
    alpha: Tenant, handing_on: HandingOn, broker: Broker, django_capture_on_commit_callbacks: Any
):
    beat("w1")
    made = due(alpha)
    own_partitions()
    chance = handing_on.chance()
    assert chance is not None

    with (
        django_capture_on_commit_callbacks(execute=True) as callbacks,
        suppress(ZeroDivisionError),
        transaction.atomic(),
    ):
        assert claim_and_take(handing_on, {made.id: made.pool}, chance) == {made.id}
        raise ZeroDivisionError

    made.refresh_from_db()
    assert (made.status, callbacks, broker.sent) == ("PENDING", [], [])
