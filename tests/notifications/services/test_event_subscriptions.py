"""Subscriptions: who may be called, what is audited, and where they begin."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from events.feed import cursor
from events.models import AuditEntry
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from notifications.event_webhooks.claims import place_of
from notifications.event_webhooks.urls import url_of
from notifications.models import EventSubscription
from notifications.services import event_subscriptions as services
from shared.exceptions import Conflict, Expired, InvalidInput, NotFound, VersionMismatch
from shared.ids import new_id
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant
from tests.support.feed_rows import write

pytestmark = pytest.mark.django_db
URL = "https://events.example.com/token-1"


def subscribe(tenant: Tenant, **parts: object) -> EventSubscription:
    ledger.ensure_days_ahead(database_now())
    given: dict[str, Any] = {"url": URL, "types": ["task.changed"], **parts}
    return services.create_subscription(tenant.id, actor=ACTOR, **given)


def test_the_url_is_sealed_and_neither_shown_nor_audited() -> None:
    tenant = make_tenant()

    made = subscribe(tenant, types=["task.changed", "task.changed"])
    services.change_subscription(
        tenant.id, made.pk, {"url": "https://other.example.com/token-2"}, actor=ACTOR
    )

    row = EventSubscription.objects.get()
    assert (row.origin, row.types, row.version) == (
        "https://other.example.com",
        ["task.changed"],
        2,
    )
    assert url_of(row) == "https://other.example.com/token-2"
    entries = AuditEntry.objects.filter(object_kind="event_subscription").order_by("sequence")
    assert [one.action.partition(".")[2] for one in entries] == ["created", "updated"]
    text = "".join(f"{one.before}{one.after}" for one in entries)
    assert "other.example.com" in text
    assert "token" not in text
    assert "token" not in str(services.present_subscription(row))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/x", "nonsense", "https://a:b@events.example.com"]
)
def test_a_url_that_may_not_be_called_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        subscribe(make_tenant(), url=url)

    assert refused.value.errors[0].pointer == "#/url"


def test_tasks_of_the_filter_are_the_tenants_own() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    foreign = {"task_ids": [str(make_task(other).id)]}

    with pytest.raises(InvalidInput):
        subscribe(tenant, filter=foreign)
    made = subscribe(tenant, filter={"task_ids": [str(make_task(tenant).id)]})
    with pytest.raises(InvalidInput):
        services.change_subscription(tenant.id, made.pk, {"filter": foreign}, actor=ACTOR)


def test_a_tenant_has_a_few_and_no_other_tenants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_PER_TENANT", 1)
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    made = subscribe(tenant)

    with pytest.raises(Conflict):
        subscribe(tenant)
    subscribe(other)
    for refused in (
        lambda: services.get_subscription(other.id, made.pk),
        lambda: services.change_subscription(other.id, made.pk, {}, actor=ACTOR),
        lambda: services.remove_subscription(other.id, made.pk, actor=ACTOR),
    ):
        with pytest.raises(NotFound):
            refused()


def test_a_change_compares_versions_and_takes_the_claim_of_a_sender_away() -> None:
    tenant = make_tenant()
    made = subscribe(tenant)
    EventSubscription.objects.update(claim_id=new_id(), claimed_until=database_now())

    with pytest.raises(VersionMismatch):
        services.change_subscription(
            tenant.id, made.pk, {"status": "PAUSED"}, actor=ACTOR, expected_version=9
        )
    paused = services.change_subscription(
        tenant.id, made.pk, {"status": "PAUSED"}, actor=ACTOR, expected_version=1
    )

    assert (paused.status, paused.paused_reason) == ("PAUSED", "requested")
    assert (paused.claim_id, paused.claimed_until) == (None, None)


def test_a_redrive_moves_the_place_and_resumes() -> None:
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    made = subscribe(tenant)
    begin = services.present_subscription(made)["after"]
    services.change_subscription(tenant.id, made.pk, {"status": "PAUSED"}, actor=ACTOR)

    def redrive(**place: object) -> EventSubscription:
        given: dict[str, Any] = {"after": None, "since": None, **place}
        return services.redrive_subscription(tenant.id, made.pk, actor=ACTOR, **given)

    moved = redrive(since=database_now())
    assert (moved.status, moved.xid, moved.version) == ("ACTIVE", 0, 3)
    assert services.present_subscription(redrive(after=begin))["after"] == begin
    foreign = services.present_subscription(subscribe(other))["after"]
    ahead = database_now() + timedelta(hours=1)
    both = {"after": begin, "since": database_now()}
    for wrong in ({}, both, {"after": foreign}, {"since": ahead}):
        with pytest.raises(InvalidInput):
            redrive(**wrong)
    EventSubscription.objects.update(read_at=made.read_at.replace(year=2020))
    expired = cursor(place_of(EventSubscription.objects.get(pk=made.pk)), tenant.id)
    with pytest.raises(Expired):
        redrive(after=expired)


@pytest.mark.django_db(transaction=True)
def test_an_answer_tells_since_when_an_event_waits() -> None:
    tenant = make_tenant()
    made = subscribe(tenant)
    assert services.present_subscription(made)["waiting_since"] is None

    write(tenant.id, "run.changed", "task.changed")

    waits = services.present_subscription(made)["waiting_since"]
    assert waits is not None
    assert waits >= made.created_at


def test_a_removed_subscription_is_gone() -> None:
    tenant = make_tenant()
    made = subscribe(tenant)

    services.remove_subscription(tenant.id, made.pk, actor=ACTOR)

    assert not EventSubscription.objects.exists()
    assert AuditEntry.objects.filter(action="event_subscription.removed").count() == 1
