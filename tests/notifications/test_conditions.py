"""Looks at conditions: when they change something, and when they do not."""

from __future__ import annotations

import pytest
import redis
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from executions.dispatch import circuits
from notifications import conditions
from notifications.alerter import CONSUMER
from notifications.conditions import LOOK_SECONDS, Conditions
from notifications.models import Alert
from notifications.services.rules import list_rules, update_rule
from shared.ids import new_id
from tests.factories import ACTOR, make_tenant
from tests.notifications.rule_cast import HOST, Stage, counts, judge
from tests.support.circuits import live
from wire.destination_key import key_of

pytestmark = pytest.mark.django_db(transaction=True)


def look() -> None:
    Conditions(CONSUMER, clock=lambda: 0.0).look()


def test_looks_are_some_time_apart() -> None:
    now = [0.0]
    watched = Conditions(CONSUMER, clock=lambda: now[0])
    spent = []
    for at in (0.0, LOOK_SECONDS / 2, LOOK_SECONDS):
        now[0] = at
        with CaptureQueriesContext(connection) as found:
            watched.look()
        spent.append(bool(len(found)))

    assert spent == [True, False, True]


def test_a_look_that_takes_long_is_not_repeated_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    now, looks = [0.0], []
    watched = Conditions(CONSUMER, clock=lambda: now[0])

    def look_for_a_second() -> None:
        looks.append(now[0])
        now[0] += 1.0

    monkeypatch.setattr(watched, "_look", look_for_a_second)
    for at in (0.0, 3.0, 19.9, 20.0):
        now[0] = max(now[0], at)
        watched.look()

    assert looks == [0.0, 20.0]


def test_a_look_that_changes_nothing_takes_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(make_tenant())
    stage.failed()
    judge()
    locked: list[str] = []
    monkeypatch.setattr(conditions, "lock_cursor", locked.append)

    look()
    assert locked == []
    stage.succeeded()
    look()

    assert locked == [CONSUMER]


def test_a_circuit_of_a_tenant_that_is_gone_opens_nothing() -> None:
    Stage(make_tenant())
    live().report(20, 20, destination=key_of(new_id(), HOST))

    look()

    assert not Alert.objects.exists()


def test_a_circuit_whose_rule_is_switched_off_opens_nothing() -> None:
    stage = Stage(make_tenant())
    [rule] = [one for one in list_rules(stage.tenant.id) if one.kind == "circuit_open"]
    update_rule(stage.tenant.id, rule.id, {"enabled": False}, actor=ACTOR)
    live().report(20, 20, destination=key_of(stage.tenant.id, HOST))

    look()

    assert not Alert.objects.exists()


def test_without_redis_alerts_of_circuits_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(make_tenant())
    live().report(20, 20, destination=key_of(stage.tenant.id, HOST))
    look()

    def away(*keys: object, **options: object) -> None:
        raise redis.ConnectionError

    monkeypatch.setattr(circuits, "standing", away)
    look()

    assert counts() == {"circuit_open": 1}


def test_a_look_waits_for_no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(make_tenant())
    stage.failed()
    judge()
    stage.succeeded()
    monkeypatch.setattr(conditions, "lock_cursor", lambda consumer: False)

    look()
    assert set(counts()) == {"final_failure"}
    monkeypatch.undo()
    look()

    with transaction.atomic():
        assert counts() == {}
