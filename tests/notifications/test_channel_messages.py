"""What channels are told: a document for programs, a text for people, and no payload."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.channel_messages import document_of, event_of, text_of
from notifications.models import Delivery
from tests.factories import make_tenant
from tests.support.alert_channels import make_channel
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db


def delivery(number: int = 0, **parts: Any) -> Delivery:
    tenant = make_tenant("acme")
    alert = make_alert(tenant, number)
    alert.error_code, alert.error_message = "http_status", "canary of an answer"
    channel = make_channel(tenant, f"channel {number}", kinds=[])
    return Delivery(
        alert=alert,
        alert_channel=channel,
        channel="webhook",
        created_at=alert.last_at,
        **{"notice_number": 1, **parts},
    )


@pytest.mark.parametrize(
    ("parts", "event"),
    [
        ({}, "opened"),
        ({"notice_number": 2}, "updated"),
        ({"notice_number": 3, "closing": True}, "closed"),
    ],
)
def test_a_notice_says_what_became_of_the_alert(parts: dict[str, Any], event: str) -> None:
    made = delivery(**parts)

    document = document_of(made)

    assert (event_of(made), document["event"]) == (event, event)
    assert document["alert_id"] == document["alert"]["id"] == str(made.alert_id)
    assert document["tenant"]["name"] == "acme"
    assert document["url"].endswith(f"/alerts/{made.alert_id}")


def test_an_escalation_says_that_the_alert_was_not_acknowledged() -> None:
    made = delivery()
    assert made.alert_channel is not None
    made.alert_channel.after_seconds = 60

    assert event_of(made) == "escalated"
    assert text_of([made]).title.startswith("[acme] Not acknowledged, Final failure: ")


def test_no_notice_has_what_a_receiver_answered() -> None:
    made = delivery()

    assert document_of(made)["alert"]["error"]["message"] == "[hidden]"
    assert "canary" not in repr(text_of([made]))


def test_people_read_tenant_kind_cause_and_link() -> None:
    message = text_of([delivery()])

    assert message.title.startswith("[acme] Final failure: 2 failures")
    assert message.body.splitlines()[0] == "HTTP 503 from host-0.example.com"
    assert "/alerts/" in message.body.splitlines()[-1]
    assert not message.closing


def test_the_end_names_the_count() -> None:
    message = text_of([delivery(notice_number=2, closing=True)])

    assert message.title.startswith("[acme] Closed: ")
    assert "It counted 2" in message.body
    assert message.closing


def test_a_bundle_lists_some_and_counts_the_rest() -> None:
    first = delivery()

    message = text_of([first] * 13)

    assert message.title == "[acme] 13 more alerts"
    assert message.body.splitlines()[10] == "and 3 more"
