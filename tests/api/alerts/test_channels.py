"""``/v1/channels``: admins change and test them; no answer has a URL."""

from __future__ import annotations

import pytest

from notifications.models import AlertChannel, Delivery
from shared.ids import new_id
from tests.factories import make_client, make_tenant
from tests.support.alert_channels import TOKEN, allow_loopback, body, make_channel
from tests.support.alerts import make_alert
from tests.support.http_receiver import http_receiver

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/v1/channels"


def test_a_channel_is_added_listed_changed_and_removed():
    client = make_client(make_tenant())

    made = client.post(PATH, body())

    assert (made.status_code, made["ETag"]) == (201, '"1"')
    shown = made.json()
    assert made["Location"] == f"{PATH}/{shown['id']}"
    assert client.get(PATH).json()["channels"] == [shown]
    change = {"kinds": ["did_not_run"], "url": f"https://b.example/{TOKEN}"}
    changed = client.call("PATCH", f"{PATH}/{shown['id']}", change, if_match='"1"')
    assert (changed.json()["host"], changed["ETag"]) == ("b.example", '"2"')
    stale = client.call("PATCH", f"{PATH}/{shown['id']}", change, if_match='"1"')
    assert stale.status_code == 412
    assert TOKEN not in made.text + changed.text + client.get(PATH).text

    assert client.delete(f"{PATH}/{shown['id']}").status_code == 204
    assert not AlertChannel.objects.exists()


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        (body(url="http://169.254.169.254/"), "#/url"),
        (body(kind="chat", url="file:///etc/passwd"), "#/url"),
        (body(kinds=["nothing"]), "#/kinds/0"),
        (body(rules=[str(new_id())]), "#/rules/0"),
        (body(more=1), "#/more"),
        ([], "#"),
    ],
)
def test_bad_input_is_named(given, pointer):
    answer = make_client(make_tenant()).post(PATH, given)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_a_name_that_is_taken_is_a_conflict():
    tenant = make_tenant()
    make_channel(tenant)

    answer = make_client(tenant).post(PATH, body())

    assert (answer.status_code, answer.json()["code"]) == (409, "channel_exists")


def test_another_tenants_channel_is_unknown():
    made = make_channel(make_tenant("Alpha"))
    client = make_client(make_tenant("Beta"))

    assert client.get(PATH).json()["channels"] == []
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/test")):
        assert client.call(method, f"{PATH}/{made.pk}{path}", {}).status_code == 404


def test_a_test_answers_what_the_other_side_said(monkeypatch):
    allow_loopback(monkeypatch)
    tenant = make_tenant()
    with http_receiver() as receiver:
        made = make_channel(tenant, url=receiver.url)
        receiver.status, receiver.body = 503, b"busy"
        answer = make_client(tenant).post(f"{PATH}/{made.pk}/test", {})

    assert answer.status_code == 200
    assert answer.json() == {
        "sent": False,
        "status": 503,
        "answer": "busy",
        "error": "The channel answered HTTP 503. It said: busy",
    }


def test_tests_of_a_channel_are_limited(monkeypatch):
    monkeypatch.setattr("notifications.limits.MOST_TESTS", 0)
    tenant = make_tenant()
    made = make_channel(tenant)

    answer = make_client(tenant).post(f"{PATH}/{made.pk}/test", {})

    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_messages")


def test_the_delivery_log_names_the_channel():
    tenant = make_tenant()
    made, alert = make_channel(tenant), make_alert(tenant)
    Delivery.objects.create(
        alert=alert,
        alert_channel=made,
        channel="webhook",
        notice_number=1,
        next_attempt_at=alert.last_at,
    )

    [line] = make_client(tenant).get(f"/v1/alerts/{alert.pk}").json()["deliveries"]

    assert line["alert_channel"] == {"id": str(made.pk), "name": "on-call"}
    assert (line["member"], line["user"], line["channel"]) == (None, None, "webhook")
