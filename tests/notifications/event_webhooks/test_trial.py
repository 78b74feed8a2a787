"""A test event is a signed one that moves nothing, and its result is the receiver's own answer."""

from __future__ import annotations

import orjson
import pytest
from standardwebhooks.webhooks import Webhook

from events.feed_types import TYPES
from events.models import AuditEntry
from notifications.event_webhooks import trial as trials
from notifications.event_webhooks.trial import EventTrial, send_test_event
from notifications.event_webhooks.urls import sealed_url
from notifications.limits import MOST_TESTS, TooManyMessages
from notifications.models import EventSubscription
from notifications.services.event_subscriptions import change_subscription
from shared.encryption import DecryptionFailed
from shared.exceptions import NotFound
from shared.ids import new_id
from tenants.models import Tenant
from tenants.services import reveal_signing_secrets
from tenants.suspension import TenantSuspended
from tests.factories import ACTOR, make_tenant
from tests.notifications.event_webhooks.receivers import closed_url, fresh, subscribe
from tests.support.http_receiver import HttpReceiver

pytestmark = pytest.mark.django_db


def send(subscription: EventSubscription) -> EventTrial:
    return send_test_event(subscription.tenant_id, subscription.pk, actor=ACTOR)


def test_a_test_event_is_signed_and_moves_nothing(receiver: HttpReceiver) -> None:
    made = subscribe(receiver.url)
    paused = change_subscription(made.tenant_id, made.pk, {"status": "PAUSED"}, actor=ACTOR)

    assert send(paused) == EventTrial(True, 200, "")

    [sent] = receiver.requests
    [secret] = reveal_signing_secrets(made.tenant_id, actor=ACTOR)
    Webhook(secret.secret).verify(sent.body, sent.headers)
    event = orjson.loads(sent.body)
    assert (event["type"], event["subject_id"]) == ("test", str(made.pk))
    assert "test" not in TYPES
    kept = fresh(made)
    for name in ("xid", "event_id", "taken", "status", "failing_since", "last_status", "version"):
        assert getattr(kept, name) == getattr(paused, name)
    assert AuditEntry.objects.filter(action="event_subscription.tested").count() == 1


def test_a_refusal_is_told_and_is_no_failure_of_the_subscription(receiver: HttpReceiver) -> None:
    made = subscribe(receiver.url)
    receiver.status = 410

    assert send(made) == EventTrial(False, 410, "HTTP 410")

    assert (fresh(made).status, fresh(made).failing_since) == ("ACTIVE", None)


def test_a_receiver_that_does_not_listen_is_told(receiver: HttpReceiver) -> None:
    found = send(subscribe(closed_url()))

    assert (found.taken, found.status) == (False, None)
    assert found.error.startswith("connection_refused")


def test_a_url_that_may_not_be_called_any_more_is_not_called() -> None:
    made = subscribe("https://events.example.com/")
    EventSubscription.objects.update(sealed_url=sealed_url(made, "http://127.0.0.1/"))

    found = send(fresh(made))

    assert (found.taken, found.status) == (False, None)
    assert found.error


def test_what_no_key_opens_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = subscribe("https://events.example.com/")

    def fail(subscription: EventSubscription) -> str:
        raise DecryptionFailed("no key")

    monkeypatch.setattr(trials, "url_of", fail)

    assert send(made) == EventTrial(False, None, "The URL or a signing secret cannot be opened.")


def test_tests_of_one_subscription_are_limited(receiver: HttpReceiver) -> None:
    made = subscribe(receiver.url)
    for _ in range(MOST_TESTS):
        send(made)

    with pytest.raises(TooManyMessages):
        send(made)

    assert len(receiver.requests) == MOST_TESTS
    # Operators' commands are not.
    assert send_test_event(made.tenant_id, made.pk, actor=ACTOR, limited=False).taken


def test_a_suspended_tenant_and_a_foreign_one_send_nothing(receiver: HttpReceiver) -> None:
    made = subscribe(receiver.url)

    with pytest.raises(NotFound):
        send_test_event(make_tenant("Beta").id, made.pk, actor=ACTOR)
    with pytest.raises(NotFound):
        send_test_event(made.tenant_id, new_id(), actor=ACTOR)
    Tenant.objects.filter(pk=made.tenant_id).update(suspended_at=made.created_at)
    with pytest.raises(TenantSuspended):
        send(made)

    assert receiver.requests == []
