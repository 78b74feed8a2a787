"""The pages behind signed links: opened by anybody, they change nothing until asked to."""

from __future__ import annotations

import pytest
from django.test import Client

from events.models import AuditEntry
from notifications.links import MUTE, UNSUBSCRIBE, signed_page
from notifications.models import AlertMute, NotificationPreference
from notifications.models.notification_preference import all_failures
from shared.conf import conf
from tests.factories import make_tenant
from tests.notifications.cast import make_member
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def browser() -> Client:
    return Client(enforce_csrf_checks=True)


def path_of(url: str) -> str:
    return url.removeprefix(conf().public_url)


def test_opening_the_link_asks_and_changes_nothing(browser: Client) -> None:
    member = make_member(make_tenant())

    answer = browser.get(path_of(signed_page(UNSUBSCRIBE, member.pk)))

    assert answer.status_code == 200
    assert "Unsubscribe from e-mail?" in answer.content.decode()
    assert answer["Referrer-Policy"] == "no-referrer"
    assert not NotificationPreference.objects.exists()


def test_the_mail_programs_one_click_unsubscribes_without_a_cookie(browser: Client) -> None:
    member = make_member(make_tenant())
    path = path_of(signed_page(UNSUBSCRIBE, member.pk))

    for _ in range(2):
        answer = browser.post(path, {"List-Unsubscribe": "One-Click"})
        assert answer.status_code == 200

    wish = NotificationPreference.objects.get(membership=member)
    assert (wish.email_events, wish.console_events) == ([], all_failures())
    entry = AuditEntry.objects.get(action="notification_preference.changed")
    assert entry.actor == f"user:{member.user_id}"


def test_a_mute_lasts_an_hour_for_this_member_only(browser: Client) -> None:
    tenant = make_tenant()
    member = make_member(tenant)
    alert = make_alert(tenant)
    path = path_of(signed_page(MUTE, member.pk, alert.id))
    assert "Mute for 1 hour" in browser.get(path).content.decode()
    assert not AlertMute.objects.exists()

    assert browser.post(path).status_code == 200

    assert AlertMute.objects.get().membership == member


@pytest.mark.parametrize("action", ["unsubscribe", "mute"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_made_up_link_is_not_found(browser: Client, action: str, method: str) -> None:
    assert getattr(browser, method)(f"/notifications/{action}/made-up").status_code == 404


def test_a_link_to_another_tenants_alert_mutes_nothing(browser: Client) -> None:
    member = make_member(make_tenant("Alpha"))
    theirs = make_alert(make_tenant("Beta"))

    answer = browser.post(path_of(signed_page(MUTE, member.pk, theirs.id)))

    assert answer.status_code == 404
    assert not AlertMute.objects.exists()


def test_a_link_of_a_member_who_is_gone_is_not_found(browser: Client) -> None:
    member = make_member(make_tenant())
    path = path_of(signed_page(UNSUBSCRIBE, member.pk))
    member.delete()

    assert browser.post(path).status_code == 404
