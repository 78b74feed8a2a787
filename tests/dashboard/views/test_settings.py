"""A member's own settings: saved, tried, and nobody else's."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from notifications.models import NotificationPreference, PushSubscription
from notifications.transports.errors import TransportError
from shared.actor import COMMAND
from tenants.models import Membership
from tenants.services import change_tenant
from tests.dashboard.asking import HOSTILE, audited, messages_of, said, user_of
from tests.support.push_sink import PushSink

ENDPOINT = "https://push.example.com/browser-1"


@pytest.fixture
def push_key(monkeypatch):
    monkeypatch.setattr(settings, "VAPID_PRIVATE_KEY", "A" * 42 + "E")


def membership_of(client):
    return Membership.objects.get(user_id=client.session["_auth_user_id"])


def test_the_page_shows_the_defaults_of_a_new_member(browser, alpha):
    answer = browser(alpha, role="viewer").get("/settings")

    assert answer.status_code == 200
    assert "No message has been sent to you yet." in answer.text
    assert "None yet." in answer.text


def test_every_member_keeps_their_own_preferences(browser, alpha):
    client, other = browser(alpha, role="viewer"), browser(alpha)
    fields = {
        "email_events": ["final_failure"],
        "email_address": "ada@example.com",
        "timezone": "Europe/Berlin",
        "quiet_from": "22:00",
        "quiet_to": "07:00",
    }

    assert said(client, "/settings/save", fields, "/settings").startswith("Saved. ada@example.com")

    kept = NotificationPreference.objects.get()
    assert kept.membership == membership_of(client)
    assert (kept.email_events, kept.push_events, kept.quiet_except_final) == (
        ["final_failure"],
        [],
        False,
    )
    assert 'value="22:00"' in client.get("/settings").text
    assert "ada@example.com" not in other.get("/settings").text
    assert audited(alpha) == [("notification_preference.changed", user_of(client))]


@pytest.mark.parametrize(
    "fields",
    [
        {"email_address": "no address"},
        {"email_address": "a@example.com\r\nBcc: b@example.com"},
        {"timezone": "No/Where"},
        {"timezone": "\0"},
        {"quiet_from": "22:00"},
        {"quiet_from": "25:99", "quiet_to": "07:00"},
        {"quiet_from": "x", "quiet_to": "y"},
        {"quiet_from": "22:00", "quiet_to": "22:00"},
        {"email_events": ["everything"]},
        {"email_address": "a\0@example.com"},
        {"email_address": f"{'x' * 300}@example.com"},
    ],
    ids=lambda fields: str(fields)[:50],
)
def test_wrong_preferences_are_a_message_and_change_nothing(browser, alpha, fields):
    client = browser(alpha)

    assert said(client, "/settings/save", fields, "/settings") != "Saved."
    assert not NotificationPreference.objects.exists()


def test_a_test_message_goes_to_the_asking_member(browser, alpha, monkeypatch):
    client = browser(alpha, role="viewer")
    seen = []

    def send(member, channel, *, actor):
        seen.append((member, channel, actor.name))
        return "there"

    monkeypatch.setattr("dashboard.views.settings.send_trial", send)

    assert said(client, "/settings/try", {"channel": "email"}) == "Sent to there."
    assert seen == [(membership_of(client), "email", user_of(client))]


def test_a_test_message_that_fails_says_why(browser, alpha, monkeypatch):
    def refused(*_, **__):
        raise TransportError("550 no such mailbox", permanent=True)

    monkeypatch.setattr("dashboard.views.settings.send_trial", refused)

    message = said(browser(alpha), "/settings/try", {"channel": "email"})

    assert message == "The message could not be sent: 550 no such mailbox"


def test_an_unknown_channel_and_a_link_try_nothing(browser, alpha):
    client = browser(alpha)

    assert client.post("/settings/try", {"channel": "pigeon"}).status_code == 400
    assert client.get("/settings/try").status_code == 405


@pytest.mark.usefixtures("push_key")
def test_a_browser_is_added_shown_without_its_secret_and_removed(browser, alpha):
    client, sink = browser(alpha, role="viewer"), PushSink()

    added = said(client, "/settings/push", {"endpoint": ENDPOINT, **sink.keys}, "/settings")

    assert added == "This browser now gets push messages."
    one = PushSubscription.objects.get()
    shown = client.get("/settings").text
    assert "push.example.com" in shown
    assert sink.keys["auth"] not in shown
    assert "browser-1" not in shown
    assert said(client, f"/settings/push/{one.pk}/remove", back="/settings") == "Removed."
    assert not PushSubscription.objects.exists()


@pytest.mark.usefixtures("push_key")
def test_another_members_browser_is_not_removed(browser, alpha):
    owner, other = browser(alpha), browser(alpha)
    said(owner, "/settings/push", {"endpoint": ENDPOINT, **PushSink().keys}, "/settings")
    one = PushSubscription.objects.get()

    assert said(other, f"/settings/push/{one.pk}/remove") == "There is no such browser."
    assert said(other, f"/settings/push/{uuid4()}/remove") == "There is no such browser."
    assert PushSubscription.objects.exists()


@pytest.mark.usefixtures("push_key")
@pytest.mark.parametrize(
    "change",
    [{"endpoint": ""}, {"endpoint": "https://127.0.0.1/x"}, {"p256dh": "x"}, {"auth": "\0"}],
)
def test_a_browser_that_cannot_be_pushed_to_is_refused(browser, alpha, change):
    fields = {"endpoint": ENDPOINT, **PushSink().keys, **change}

    assert said(browser(alpha), "/settings/push", fields) != "This browser now gets push messages."
    assert not PushSubscription.objects.exists()


def test_hostile_names_are_shown_as_text(alpha, client):
    user = User.objects.create_user(HOSTILE)
    Membership.objects.create(user=user, tenant=alpha, role="viewer")
    alpha.name = HOSTILE
    alpha.save()
    client.force_login(user)

    assert "<script>alert(" not in client.get("/settings").text


def test_the_service_worker_stands_for_every_page(client, db):
    answer = client.get("/push-worker.js")

    assert answer["Content-Type"].startswith("text/javascript")
    assert "addEventListener" in answer.text


def test_saving_stays_on_the_page(browser, alpha):
    answer = browser(alpha).post(
        "/settings/save", HTTP_REFERER="http://testserver/settings", follow=True
    )

    assert answer.redirect_chain == [("/settings", 302)]
    assert messages_of(answer) == ["Saved."]


def test_an_admin_sets_the_default_jitter_of_new_tasks(browser, alpha):
    client = browser(alpha, role="admin")
    fields = {"default_jitter_seconds": "30.5"}

    assert said(client, "/settings/tenant", fields, "/settings") == "Saved."

    alpha.refresh_from_db()
    assert alpha.default_jitter_seconds == 30.5
    assert 'value="30.5"' in client.get("/settings").text
    assert audited(alpha) == [("tenant.changed", user_of(client))]


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf", "86401", *HOSTILE])
def test_a_default_jitter_that_cannot_be_is_said_and_changes_nothing(browser, alpha, text):
    client = browser(alpha, role="admin")

    refused = said(client, "/settings/tenant", {"default_jitter_seconds": text}, "/settings")

    assert "seconds" in refused
    alpha.refresh_from_db()
    assert alpha.default_jitter_seconds == 0


def test_the_tenants_settings_are_its_admins(browser, alpha):
    client = browser(alpha, role="operator")

    assert client.post("/settings/tenant", {"default_jitter_seconds": "5"}).status_code == 403
    assert "default_jitter_seconds" not in client.get("/settings").text


def test_an_admin_asks_for_stricter_idempotency(browser, alpha):
    client = browser(alpha, role="admin")
    fields = {"idempotency_required": "on", "idempotency_seconds": "604800"}

    assert said(client, "/settings/idempotency", fields, "/settings") == "Saved."

    alpha.refresh_from_db()
    assert (alpha.idempotency_required, alpha.idempotency_seconds) == (True, 604_800)
    page = client.get("/settings").text
    assert 'value="604800"' in page
    assert 'name="idempotency_required" checked' in page
    assert audited(alpha) == [("tenant.changed", user_of(client))]

    said(client, "/settings/idempotency", {"idempotency_seconds": "86400"}, "/settings")
    alpha.refresh_from_db()
    assert (alpha.idempotency_required, alpha.idempotency_seconds) == (False, 86_400)


@pytest.mark.parametrize("form", ["tenant", "idempotency"])
def test_a_form_shown_before_another_change_of_the_settings_saves_nothing(browser, alpha, form):
    client = browser(alpha, role="admin")
    fields = {"idempotency_seconds": "604800", "default_jitter_seconds": "7", "version": "1"}
    assert 'name="version" value="1"' in client.get("/settings").text
    change_tenant(alpha.id, {"default_jitter_seconds": 30.0}, actor=COMMAND)

    assert "at version 2, not 1" in said(client, f"/settings/{form}", fields, "/settings")

    alpha.refresh_from_db()
    assert (alpha.default_jitter_seconds, alpha.idempotency_seconds) == (30, 86_400)


@pytest.mark.parametrize(
    "text", ["", "much", "-1", "1.5", "86399", "2592001", "9" * 5000, *HOSTILE]
)
def test_a_retention_of_answers_that_cannot_be_is_said_and_changes_nothing(browser, alpha, text):
    client = browser(alpha, role="admin")
    fields = {"idempotency_required": "on", "idempotency_seconds": text}

    assert "seconds" in said(client, "/settings/idempotency", fields, "/settings")

    alpha.refresh_from_db()
    assert (alpha.idempotency_required, alpha.idempotency_seconds) == (False, 86_400)


def test_stricter_idempotency_is_not_an_operators_to_ask_for(browser, alpha):
    client = browser(alpha, role="operator")

    assert client.post("/settings/idempotency", {"idempotency_seconds": "86400"}).status_code == 403
    assert "idempotency_seconds" not in client.get("/settings").text


def test_an_address_that_waits_is_shown_and_can_be_asked_again(browser, alpha, monkeypatch):
    client = browser(alpha, role="viewer")
    assert "waits to be confirmed" not in client.get("/settings").text
    said(client, "/settings/save", {"email_address": "ada@example.com"}, "/settings")
    monkeypatch.setattr("dashboard.views.settings.ask_again", lambda member: "ada@example.com")

    page = client.get("/settings").text

    assert "An address waits to be confirmed" in page
    assert "E-mail goes nowhere until" in page
    assert said(client, "/settings/confirm") == "Sent to ada@example.com."
    assert client.get("/settings/confirm").status_code == 405


def test_too_many_test_messages_are_a_message(browser, alpha, monkeypatch):
    monkeypatch.setattr("notifications.services.trials.publish_alert", lambda *_, **__: None)
    client = browser(alpha, role="viewer")

    messages = [said(client, "/settings/try", {"channel": "console"}) for _ in range(6)]

    assert messages[4].startswith("Sent to")
    assert "At most 5 test messages" in messages[5]


def test_the_zone_of_messages_begins_as_that_of_the_pages(browser, alpha):
    client = browser(alpha)
    client.cookies["punctual_zone"] = "Europe/Berlin"

    assert client.get("/settings").context["chosen"]["timezone"] == "Europe/Berlin"


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_only_an_owner_decides_whether_members_need_a_second_factor(browser, alpha, role):
    client = browser(alpha, role=role)

    assert "Require a second factor" not in client.get("/settings").text
    form = {"second_factor_required": "on", "version": "1"}
    answer = client.post("/settings/second-factor", form)

    assert answer.status_code == 403
    alpha.refresh_from_db()
    assert not alpha.second_factor_required


def test_an_owner_requires_a_second_factor_and_is_led_to_it(browser, alpha):
    client = browser(alpha, role="owner")
    form = {"second_factor_required": "on", "version": "1"}

    answer = client.post("/settings/second-factor", form)

    assert answer.status_code == 302
    alpha.refresh_from_db()
    assert alpha.second_factor_required
    assert client.get("/").url == "/account/second-factor"
