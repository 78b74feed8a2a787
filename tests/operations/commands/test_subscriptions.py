"""``manage.py subscriptions``: event webhooks, whose URL is read and never printed."""

from __future__ import annotations

import pytest

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from notifications.event_webhooks.urls import url_of
from notifications.models import EventSubscription
from notifications.services.event_subscriptions import create_subscription
from tenants.models import Tenant
from tests.factories import ACTOR, make_task
from tests.support.alert_channels import allow_loopback
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.http_receiver import http_receiver

pytestmark = pytest.mark.django_db
TOKEN = "t0ken-of-events"
URL = f"https://events.example.com/{TOKEN}"


@pytest.fixture(autouse=True)
def _days(db: None) -> None:
    ledger.ensure_days_ahead(database_now())


def subscribe(tenant: Tenant, url: str = URL) -> EventSubscription:
    return create_subscription(tenant.id, url=url, types=["execution.failed"], actor=ACTOR)


def test_one_is_created_from_standard_input_and_changed(alpha, monkeypatch):
    type_in(monkeypatch, f"{URL}\n", terminal=False)
    task = make_task(alpha)
    words = ("--type", "task.changed", "--label", "team:billing")

    made = call("subscriptions", "create", *words, "--json")
    shown = read_document("subscriptions-create", made.out)
    id_ = shown["id"]
    changed = call("subscriptions", "change", id_[-12:], "--task", str(task.id), "--json")

    assert url_of(EventSubscription.objects.get()) == URL
    assert (shown["origin"], shown["filter"]) == (
        "https://events.example.com",
        {"labels": {"team": "billing"}},
    )
    assert read_document("subscriptions-change", changed.out)["filter"] == {
        "task_ids": [str(task.id)]
    }
    assert TOKEN not in made.out + made.err + changed.out


@pytest.mark.parametrize(
    "words",
    [
        ("create", "--type", "task.changed", "--label", "billing"),
        ("create", "--type", "task.changed", "--label", ":billing"),
        ("create", "--type", "task.changed", "--label", "team:" + "x" * 201),
        ("create", "--type", "task.changed", "--label", "team:a", "team:b"),
        ("create", "--type", "task.changed", "--label", *(f"n{n}:v" for n in range(11))),
        ("redrive", "ID"),
        ("redrive", "ID", "--since", "2h", "--cursor", "x"),
        ("change", "ID"),
    ],
)
def test_wrong_use_changes_nothing(alpha, monkeypatch, words):
    row = subscribe(alpha)
    type_in(monkeypatch, URL, terminal=False)

    said = call("subscriptions", *(str(row.pk) if word == "ID" else word for word in words))

    assert said.code == 2
    assert EventSubscription.objects.get().version == 1


def test_a_receiver_that_may_not_be_called_is_refused(alpha, monkeypatch):
    type_in(monkeypatch, "http://127.0.0.1/", terminal=False)

    assert call("subscriptions", "create", "--type", "task.changed").code == 2
    assert not EventSubscription.objects.exists()


def test_list_and_show_have_no_url_and_know_their_tenant(alpha, beta):
    row = subscribe(alpha)
    subscribe(beta)

    listed = call("subscriptions", "list", "--tenant", alpha.name, "--json").out
    shown = call("subscriptions", "show", str(row.pk), "--tenant", alpha.name, "--json").out
    text = call("subscriptions", "show", str(row.pk), "--tenant", alpha.name).out

    assert read_document("subscriptions-list", listed)["total"] == 1
    assert read_document("subscriptions-show", shown)["status"] == "ACTIVE"
    assert TOKEN not in listed + shown + text
    assert call("subscriptions", "show", str(row.pk), "--tenant", beta.name).code == 3


def test_it_is_paused_resumed_redriven_and_removed(alpha):
    row = subscribe(alpha)
    id_ = str(row.pk)

    paused = call("subscriptions", "pause", id_, "--json").out
    resumed = call("subscriptions", "resume", id_, "--json").out
    redriven = call("subscriptions", "redrive", id_, "--since", "1h", "--yes", "--json").out
    removed = call("subscriptions", "remove", id_, "--yes", "--json").out

    assert read_document("subscriptions-pause", paused)["paused_reason"] == "requested"
    assert read_document("subscriptions-resume", resumed)["status"] == "ACTIVE"
    earlier = read_document("subscriptions-resume", resumed)["after"]
    assert read_document("subscriptions-redrive", redriven)["after"] != earlier
    assert read_document("subscriptions-remove", removed)["removed"] == id_
    assert not EventSubscription.objects.exists()


def test_a_test_prints_the_answer_and_fails_where_it_was_refused(alpha, monkeypatch):
    allow_loopback(monkeypatch)
    with http_receiver() as receiver:
        row = subscribe(alpha, receiver.url)
        taken = call("subscriptions", "test", str(row.pk))
        receiver.status = 410
        refused = call("subscriptions", "test", str(row.pk), "--json")

    assert "HTTP 200" in taken.out
    assert refused.code == 1
    document = read_document("subscriptions-test", refused.out)
    assert (document["taken"], document["status"]) == (False, 410)
