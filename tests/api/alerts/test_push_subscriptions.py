from __future__ import annotations

import pytest

from notifications.models import PushSubscription
from shared.ids import new_id
from tests.factories import make_client, make_tenant
from tests.notifications.cast import make_member
from tests.support.push_sink import PushSink

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("vapid")]
PATH = "/v1/push-subscriptions"


def body_of(member, endpoint="https://push.example.com/browser-1"):
    return {"member": member.pk, "endpoint": endpoint, "keys": PushSink().keys, "user_agent": "F"}


def test_a_browser_is_added_listed_and_removed():
    tenant = make_tenant()
    client = make_client(tenant)

    made = client.post(PATH, body_of(make_member(tenant)))
    assert made.status_code == 201
    assert "browser-1" not in made.content.decode()
    [listed] = client.get(PATH).json()["push_subscriptions"]
    assert listed == made.json()
    assert listed["push_service"] == "push.example.com"

    assert client.delete(f"{PATH}/{listed['id']}").status_code == 204
    assert not PushSubscription.objects.exists()


@pytest.mark.parametrize(
    "endpoint",
    ["http://push.example.com/1", "https://10.0.0.1/1", "https://169.254.169.254/1", "nonsense"],
)
def test_a_browser_of_a_forbidden_place_is_refused(endpoint):
    tenant = make_tenant()

    answer = make_client(tenant).post(PATH, body_of(make_member(tenant), endpoint))

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/endpoint"


def test_another_tenants_member_and_browser_are_unknown():
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    member = make_member(alpha)
    made = make_client(alpha).post(PATH, body_of(member)).json()
    client = make_client(beta)

    assert client.post(PATH, body_of(member)).status_code == 400
    assert client.delete(f"{PATH}/{made['id']}").status_code == 404
    assert client.get(PATH).json()["push_subscriptions"] == []


def test_an_unknown_browser_is_not_found():
    assert make_client(make_tenant()).delete(f"{PATH}/{new_id()}").status_code == 404
