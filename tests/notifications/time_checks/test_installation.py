"""The installation's troubles: told to operators, once they have lasted, until they are over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from executions.loop.clocks import database_now
from executions.models import PartitionLease, SchedulerNode
from notifications.alerter import Alerter
from notifications.models import Alert, Delivery
from notifications.time_checks import stage
from notifications.time_checks.installation import LASTS_SECONDS, Troubles
from shared.ids import new_id
from tenants.models import Membership, Tenant
from tests.factories import make_tenant
from tests.notifications.cast import begin, make_member, pass_time
from tests.notifications.time_checks.world import rule
from tests.support.beats import beat, silence
from tests.support.closed_redis import closed_redis
from wire import heartbeats

pytestmark = pytest.mark.django_db


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def troubles(clock: Clock) -> Troubles:
    return Troubles(clock)


@pytest.fixture
def home() -> Tenant:
    """Return the tenant of an operator, where everything works."""
    begin()
    beat("w1")
    SchedulerNode.objects.create(id=new_id(), name="s1", pid=1)
    tenant = make_tenant("Home")
    make_member(tenant, "root", is_superuser=True)
    return tenant


def told(troubles: Troubles) -> set[str]:
    """Judge once; return the parts of the open alerts whose trouble lasts."""
    assert stage.check(troubles)
    found = Alert.objects.filter(kind="installation_unhealthy", recovered_at=None)
    return set(found.values_list("subject", flat=True))


def last(clock: Clock) -> None:
    clock.now += LASTS_SECONDS


def test_nothing_is_told_while_everything_works(home: Tenant, troubles: Troubles, clock: Clock):
    own(home)
    assert told(troubles) == set()
    last(clock)
    assert told(troubles) == set()


@pytest.mark.parametrize("part", ["scheduler", "worker", "redis"])
def test_a_trouble_is_told_once_it_has_lasted_and_ends_with_it(
    home: Tenant, troubles: Troubles, clock: Clock, part: str, monkeypatch: pytest.MonkeyPatch
):
    own(home)
    with monkeypatch.context() as away:
        if part == "scheduler":
            SchedulerNode.objects.all().delete()
        elif part == "worker":
            silence("w1", 3600)
        else:
            away.setattr(heartbeats, "client", closed_redis)
        assert told(troubles) == set()
        last(clock)
        assert told(troubles) == {part}
        assert told(Troubles(clock)) == {part}, "another process has seen it for a moment only"

    own(home)
    beat("w1")
    assert told(troubles) == set()
    assert Alert.objects.count() == 1


def test_only_tenants_of_operators_have_such_an_alert(
    home: Tenant, troubles: Troubles, clock: Clock
):
    make_member(make_tenant("Other"), "ada")
    told(troubles)
    last(clock)
    told(troubles)

    assert {alert.tenant for alert in Alert.objects.all()} == {home}


def test_only_operators_get_the_message(home: Tenant, troubles: Troubles, clock: Clock):
    member = User.objects.create_user("bob", email="bob@example.com")
    Membership.objects.create(user=member, tenant=home, role="owner")
    told(troubles)
    last(clock)
    told(troubles)
    pass_time(seconds=1)
    Alerter().run_once()

    sent = Delivery.objects.values_list("membership__user__username", flat=True)
    assert set(sent) == {"root"}


def test_a_tenant_may_turn_it_off(home: Tenant, troubles: Troubles, clock: Clock):
    rule(home, "installation_unhealthy", built_in=True, enabled=False)
    told(troubles)
    last(clock)

    assert told(troubles) == set()


def test_a_rule_of_the_tenants_own_names_its_alerts(home: Tenant, troubles: Troubles, clock: Clock):
    made = rule(home, "installation_unhealthy", urgent=False)
    told(troubles)
    last(clock)
    told(troubles)

    assert {(alert.rule_id, alert.urgent) for alert in Alert.objects.all()} == {(made.id, False)}


def own(home: Tenant) -> None:
    """Let a live scheduler own every partition."""
    node, _ = SchedulerNode.objects.get_or_create(name="s1", defaults={"id": new_id(), "pid": 1})
    now = database_now()
    SchedulerNode.objects.filter(pk=node.pk).update(
        heartbeat_at=now, lease_expires_at=now + timedelta(days=365)
    )
    PartitionLease.objects.update(owner=node.pk, expires_at=None)
