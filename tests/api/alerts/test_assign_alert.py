from __future__ import annotations

import pytest

from tests.factories import make_client, make_tenant
from tests.notifications.cast import make_member
from tests.support.alerts import make_alert

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_alert_is_assigned_and_the_assignment_taken_back():
    tenant = make_tenant()
    member, path = make_member(tenant), f"/v1/alerts/{make_alert(tenant).id}/assign"
    client = make_client(tenant)

    assert client.post(path, {"member": member.pk}).json()["assignee"] == member.pk
    assert client.post(path, {"member": None}).json()["assignee"] is None


@pytest.mark.parametrize("body", [{}, {"member": "ada"}, {"member": 0}, {"member": 10**9}, []])
def test_bad_input_is_refused(body):
    tenant = make_tenant()

    answer = make_client(tenant).post(f"/v1/alerts/{make_alert(tenant).id}/assign", body)

    assert answer.status_code == 400


def test_a_member_of_another_tenant_is_unknown():
    tenant = make_tenant("Alpha")
    stranger = make_member(make_tenant("Beta"))

    answer = make_client(tenant).post(
        f"/v1/alerts/{make_alert(tenant).id}/assign", {"member": stranger.pk}
    )

    assert answer.json()["errors"][0]["code"] == "member_unknown"
