"""Event webhooks on the console: members see how far, admins change, no page has a URL."""

from __future__ import annotations

import pytest

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from notifications.event_webhooks.urls import url_of
from notifications.models import EventSubscription
from notifications.services.event_subscriptions import change_subscription, create_subscription
from tenants.models import Tenant
from tests.factories import ACTOR, make_task
from tests.support.alert_channels import allow_loopback
from tests.support.feed_rows import write
from tests.support.http_receiver import http_receiver

PATH = "/settings/event-subscriptions"
TOKEN = "t0ken-of-events"
URL = f"https://events.example.com/{TOKEN}"
FORM = {"receiver_url": URL, "types": ["execution.failed"], "labels": "team:billing"}


@pytest.fixture(autouse=True)
def _days(db: None) -> None:
    ledger.ensure_days_ahead(database_now())


def subscribe(tenant: Tenant, url: str = URL) -> EventSubscription:
    return create_subscription(tenant.id, url=url, types=["execution.failed"], actor=ACTOR)


# The feed ends below the oldest open transaction.
@pytest.mark.django_db(transaction=True)
def test_a_viewer_sees_how_far_the_ones_of_the_own_tenant_are(browser, alpha, beta):
    subscribe(alpha)
    subscribe(beta, "https://foreign.example.com/")
    client = browser(alpha, role="viewer")
    before = client.get(PATH).text
    write(alpha.id, "execution.failed")

    after = client.get(PATH).text

    assert "https://events.example.com" in after
    assert "foreign.example.com" not in after
    assert TOKEN not in after
    assert f"{PATH}/new" not in after
    unsent = 'data-label="Oldest unsent event"><time'
    assert (unsent in before, unsent in after) == (False, True)


def test_an_admin_adds_one_and_no_page_shows_its_url(browser, alpha):
    client = browser(alpha, role="admin")
    task = make_task(alpha)

    answer = client.post(f"{PATH}/new", {**FORM, "task_ids": f"{task.id}\r\n"}, follow=True)

    made = EventSubscription.objects.get()
    assert url_of(made) == URL
    assert made.filter == {"labels": {"team": "billing"}, "task_ids": [str(task.id)]}
    form = client.get(f"{PATH}/{made.pk}").text
    assert (str(task.id) in form, "team:billing" in form) == (True, True)
    assert TOKEN not in answer.text + form


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"receiver_url": f"ftp://x/{TOKEN}"}, "receiver_url"),
        ({"types": []}, "types"),
        ({"types": ["x"]}, "types"),
        ({"labels": "billing"}, "labels"),
        ({"labels": "team:billing\nteam:sales"}, "labels"),
        ({"task_ids": "x"}, "task_ids"),
        ({"task_ids": "00000000-0000-4000-8000-000000000001"}, "task_ids"),
    ],
)
def test_an_error_stands_at_its_field_and_the_form_keeps_what_was_typed(
    browser, alpha, wrong, field
):
    answer = browser(alpha, role="admin").post(f"{PATH}/new", {**FORM, **wrong})

    assert answer.status_code == 400
    assert f'href="#{field}"' in answer.text
    assert TOKEN not in answer.text
    assert str(wrong.get("labels", "team:billing")) in answer.text
    assert not EventSubscription.objects.exists()


def test_an_empty_url_stays_and_an_old_form_changes_nothing(browser, alpha):
    made = subscribe(alpha)
    client = browser(alpha, role="admin")
    form = {"receiver_url": "", "types": ["task.changed"], "version": "1"}

    client.post(f"{PATH}/{made.pk}", form)
    stale = client.post(f"{PATH}/{made.pk}", {**form, "types": ["run.changed"]})

    kept = EventSubscription.objects.get()
    assert (url_of(kept), kept.types, kept.version) == (URL, ["task.changed"], 2)
    assert stale.status_code == 400


def test_it_is_paused_resumed_and_sent_again_from_a_time(browser, alpha):
    made = subscribe(alpha)
    client = browser(alpha, role="admin")

    client.post(f"{PATH}/{made.pk}/pause")
    paused = client.get(PATH).text
    client.post(f"{PATH}/{made.pk}/resume")
    resumed = EventSubscription.objects.get()
    refused = client.post(f"{PATH}/{made.pk}/redrive", {"since": "soon"}, follow=True)
    client.post(f"{PATH}/{made.pk}/redrive", {"since": "2020-01-01T00:00"})

    assert "By request" in paused
    assert resumed.status == "ACTIVE"
    assert "Give a date and time" in refused.text
    assert EventSubscription.objects.get().read_at < resumed.read_at


def test_one_that_paused_itself_says_why(browser, alpha):
    made = subscribe(alpha)
    change_subscription(alpha.id, made.pk, {"status": "PAUSED"}, actor=ACTOR)
    EventSubscription.objects.update(paused_reason="gone", last_error="HTTP 410", last_status=410)

    shown = browser(alpha, role="viewer").get(PATH).text

    assert "The receiver answered 410" in shown
    assert "HTTP 410" in shown


def test_the_test_button_shows_the_real_answer(browser, alpha, monkeypatch):
    allow_loopback(monkeypatch)
    client = browser(alpha, role="admin")
    with http_receiver() as receiver:
        made = subscribe(alpha, receiver.url)
        taken = client.post(f"{PATH}/{made.pk}/test", follow=True)
        receiver.status = 404
        refused = client.post(f"{PATH}/{made.pk}/test", follow=True)

    assert "answered HTTP 200" in taken.text
    assert "was not taken. HTTP 404" in refused.text


def test_an_admin_removes_one(browser, alpha):
    made = subscribe(alpha)

    browser(alpha, role="admin").post(f"{PATH}/{made.pk}/remove")

    assert not EventSubscription.objects.exists()
