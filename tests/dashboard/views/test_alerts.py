"""Alerts: the list, one alert with its log, muting, and what a page has missed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from executions.loop.clocks import database_now
from notifications.models import Alert, Delivery
from tenants.models import Membership, Tenant
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of


def make_alert(tenant: Tenant, **parts: Any) -> Alert:
    now = database_now()
    values: dict[str, Any] = {
        "kind": "final_failure",
        "error_signature": f"http_503 {uuid4()}",
        "cause": "HTTP 503",
        "task_id": uuid4(),
        "task_name": "Nightly invoice",
        "execution_id": uuid4(),
        "count": 1,
        "task_count": 1,
        "first_at": now,
        "last_at": now,
    }
    return Alert.objects.create(tenant=tenant, **{**values, **parts})


def tell(client: Any, alert: Alert, **parts: Any) -> Delivery:
    membership = Membership.objects.get(user_id=client.session["_auth_user_id"])
    values = {"channel": "console", "notice_number": 1, "status": "SENT"}
    return Delivery.objects.create(alert=alert, membership=membership, **{**values, **parts})


def test_alerts_are_listed_and_shown_with_their_log(browser, alpha):
    alert, client = make_alert(alpha, count=3), browser(alpha)
    tell(client, alert, channel="email", status="FAILED", error="550 no such mailbox")

    assert "3 failures: Nightly invoice: HTTP 503" in client.get("/alerts").text
    shown = client.get(f"/alerts/{alert.pk}")
    assert shown.status_code == 200
    assert "550 no such mailbox" in shown.text


def test_the_empty_states_differ(browser, alpha):
    client = browser(alpha)
    assert "No alerts" in client.get("/alerts").text
    make_alert(alpha)

    assert "No alert of this kind" in client.get("/alerts?kind=first_failure").text
    assert len(client.get("/alerts?kind=final_failure").context["rows"]) == 1


def test_other_tenants_alerts_are_not_there(browser, alpha, beta):
    alert, client = make_alert(beta), browser(alpha)

    assert client.get("/alerts").context["rows"] == []
    assert client.get(f"/alerts/{alert.pk}").status_code == 404
    assert said(client, f"/alerts/{alert.pk}/mute", {"minutes": "60"}) == "There is no such alert."
    alert.refresh_from_db()
    assert alert.muted_until is None


def test_a_viewer_sees_no_button_and_may_not_mute(browser, alpha):
    alert, client = make_alert(alpha), browser(alpha, role="viewer")

    assert f"/alerts/{alert.pk}/mute" not in client.get(f"/alerts/{alert.pk}").text
    assert client.post(f"/alerts/{alert.pk}/mute", {"minutes": "60"}).status_code == 403


def test_an_alert_is_muted_and_heard_again(browser, alpha):
    alert, client = make_alert(alpha), browser(alpha, role="operator")
    path = f"/alerts/{alert.pk}"

    assert said(client, f"{path}/mute", {"minutes": "60"}) == "Muted. The alert keeps counting."
    assert "Muted until" in client.get(path).text
    assert said(client, f"{path}/mute", {"minutes": "0"}) == "No longer muted."
    assert "Muted until" not in client.get(path).text
    assert audited(alpha) == [("alert.muted", user_of(client))] * 2


@pytest.mark.parametrize("minutes", ["", "5", "-60", "x", "9" * 5000])
def test_only_the_offered_times_mute(browser, alpha, minutes):
    alert = make_alert(alpha)

    message = said(browser(alpha), f"/alerts/{alert.pk}/mute", {"minutes": minutes})

    assert message == "Choose one of the times."


def test_a_closed_alert_has_no_mute(browser, alpha):
    alert = make_alert(alpha, closed_at=database_now())

    assert f"/alerts/{alert.pk}/mute" not in browser(alpha).get(f"/alerts/{alert.pk}").text


def test_hostile_text_is_shown_as_text(browser, alpha):
    alert = make_alert(
        alpha,
        task_name=HOSTILE,
        cause=HOSTILE,
        error_code="x",
        error_message=HOSTILE,
        error_signature=HOSTILE,
        destination=HOSTILE,
    )
    client = browser(alpha)
    tell(client, alert, error=HOSTILE)

    for path in ("/alerts", f"/alerts/{alert.pk}", "/settings"):
        assert is_escaped(client.get(path)), path


@pytest.mark.parametrize("query", ["kind=x", "cursor=x", "limit=0", "kind=%00"])
def test_a_bad_query_is_a_page_that_says_so(browser, alpha, query):
    assert browser(alpha).get(f"/alerts?{query}").status_code == 400


def test_what_a_page_has_missed_is_told_to_its_member_only(browser, alpha):
    alert, client, other = make_alert(alpha), browser(alpha), browser(alpha)
    tell(client, alert)

    [toast] = client.get("/alerts/recent").json()["alerts"]

    assert (toast["severity"], toast["url"]) == ("error", f"/alerts/{alert.pk}")
    assert other.get("/alerts/recent").json()["alerts"] == []


def test_what_was_seen_already_is_not_told_again(browser, alpha):
    client = browser(alpha)
    tell(client, make_alert(alpha))
    later = int((database_now() + timedelta(seconds=1)).timestamp() * 1000)

    assert client.get(f"/alerts/recent?after={later}").json()["alerts"] == []


@pytest.mark.parametrize("after", ["x", "-1", "9" * 13, "9" * 15, "9" * 5000, "٣", "%00"])
def test_an_odd_moment_is_no_error(browser, alpha, after):
    assert browser(alpha).get(f"/alerts/recent?after={after}").status_code == 200


def test_strangers_are_told_nothing(client, db):
    answer = client.get("/alerts/recent")

    assert (answer.status_code, answer.json()) == (200, {"alerts": []})


def test_a_page_of_alerts_costs_the_same_for_one_row_and_for_twenty(browser, alpha):
    client = browser(alpha)
    make_alert(alpha)
    for_one = queries_for(client, "/alerts")
    for _ in range(19):
        make_alert(alpha)

    assert queries_for(client, "/alerts") == for_one <= 10


def test_an_operator_acknowledges_and_takes_that_back(browser, alpha):
    alert, client = make_alert(alpha), browser(alpha, role="operator")

    client.post(f"/alerts/{alert.pk}/acknowledge")
    assert "no further notice" in client.get(f"/alerts/{alert.pk}").text
    assert Alert.objects.get().acknowledged_at is not None
    client.post(f"/alerts/{alert.pk}/acknowledge", {"withdraw": "1"})

    assert Alert.objects.get().acknowledged_at is None


def test_an_operator_assigns_a_member_of_the_tenant(browser, alpha):
    alert, client = make_alert(alpha), browser(alpha, role="operator")
    member = Membership.objects.get()

    client.post(f"/alerts/{alert.pk}/assign", {"member": str(member.pk)})
    assert Alert.objects.get().assignee == member
    assert "Assigned to" in client.get(f"/alerts/{alert.pk}").text
    client.post(f"/alerts/{alert.pk}/assign", {"member": "x"})
    client.post(f"/alerts/{alert.pk}/assign", {"member": str(member.pk + 1)})
    assert Alert.objects.get().assignee == member
    client.post(f"/alerts/{alert.pk}/assign", {"member": ""})

    assert Alert.objects.get().assignee is None


def test_a_viewer_neither_acknowledges_nor_assigns(browser, alpha):
    alert, client = make_alert(alpha), browser(alpha, role="viewer")

    assert "Acknowledge" not in client.get(f"/alerts/{alert.pk}").text
    for act in ("acknowledge", "assign"):
        assert client.post(f"/alerts/{alert.pk}/{act}").status_code == 403
