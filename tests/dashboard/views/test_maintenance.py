"""Maintenance windows on the console: members see them, operators make and end them."""

from __future__ import annotations

import pytest

from notifications.models import MaintenanceWindow
from notifications.services.maintenance import WindowFields, create_window
from notifications.services.rules import list_rules
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.factories import ACTOR

PATH = "/maintenance"
FORM = {"name": "Nights", "scope": "all", "from_time": "22:00", "to_time": "02:00"}


def make(tenant, name="Nights", **parts):
    from datetime import time

    wanted = WindowFields(name, weekdays=[6, 7], from_time=time(22), to_time=time(2), **parts)
    return create_window(tenant.id, wanted, actor=ACTOR)


def test_a_viewer_sees_the_windows_of_the_own_tenant(browser, alpha, beta):
    make(alpha)
    make(beta, "Foreign window")
    client = browser(alpha, role="viewer")

    page = client.get(PATH).text
    assert "Nights" in page
    assert "Saturday, Sunday" in page
    assert "Foreign window" not in page
    assert f"{PATH}/new" not in page
    assert client.get(f"{PATH}/new").status_code == 403
    window = MaintenanceWindow.objects.get(tenant=alpha)
    assert client.post(f"{PATH}/{window.pk}/end").status_code == 403


def test_an_operator_makes_and_ends_a_window(browser, alpha):
    client = browser(alpha, role="operator")
    assert "No maintenance window" in client.get(PATH).text

    client.post(f"{PATH}/new", {**FORM, "weekdays": ["7", "1"], "timezone": "Europe/Berlin"})
    window = MaintenanceWindow.objects.get()
    assert (window.weekdays, window.timezone, f"{window.to_time:%H:%M}") == (
        *([1, 7], "Europe/Berlin", "02:00"),
    )
    client.post(f"{PATH}/{window.pk}/end")
    assert not MaintenanceWindow.objects.exists()


def test_a_rule_is_snoozed_until_a_time_by_a_window(browser, alpha):
    [rule] = [one for one in list_rules(alpha.id) if one.kind == "no_worker"]
    client = browser(alpha, role="operator")
    assert f"{PATH}/new?scope=rule&amp;value={rule.pk}" in client.get("/alert-rules").text
    form = client.get(f"{PATH}/new?scope=rule&value={rule.pk}").text
    assert f'value="{rule.pk}"' in form
    assert '<option value="rule" selected>' in form
    assert 'value="Snooze No worker"' in form

    sent = {"name": "Snooze", "scope": "rule", "value": str(rule.pk)}
    answer = client.post(f"{PATH}/new", {**sent, "ends_at": "2036-01-01T00:00"})
    assert answer.status_code == 400
    assert "within 31 days" in answer.text
    make(alpha, scope="rule", value=str(rule.pk))
    assert "the rule No worker" in client.get(PATH).text


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"name": ""}, "Must not be empty."),
        ({"scope": "oops"}, "Give one of"),
        ({"scope": "label", "value": "oops"}, "key:value"),
        ({"weekdays": "8"}, "Choose the days anew."),
        ({"from_time": "oops"}, "Give a time like 22:00."),
        ({"begins_at": "oops"}, "Give a date and a time"),
        ({"weekdays": "1", "timezone": "Mars/Olympus"}, "Mars/Olympus"),
        ({}, "Give the end, or weekdays"),
    ],
)
def test_a_form_with_errors_comes_back_as_it_was_sent(browser, alpha, sent, message):
    form = {**FORM, "name": HOSTILE, "value": HOSTILE, **sent}
    answer = browser(alpha, role="operator").post(f"{PATH}/new", form)

    assert answer.status_code == 400
    assert message in answer.text
    assert is_escaped(answer)
    assert not MaintenanceWindow.objects.exists()
