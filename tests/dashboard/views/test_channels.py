"""Channels on the console: members see them, admins change and test them, no page has a URL."""

from __future__ import annotations

import pytest

from notifications.models import AlertChannel, AlertRule
from notifications.services.channels import open_url
from tests.support.alert_channels import TOKEN, URL, allow_loopback, make_channel
from tests.support.http_receiver import http_receiver

PATH = "/settings/channels"
FORM = {"name": "on-call", "kind": "webhook", "channel_url": URL, "kinds": ["final_failure"]}


def test_a_viewer_sees_the_channels_of_the_own_tenant(browser, alpha, beta):
    make_channel(alpha)
    make_channel(beta, "foreign")

    answer = browser(alpha, role="viewer").get(PATH)

    assert "on-call" in answer.text
    assert "hooks.example.com" in answer.text
    assert "foreign" not in answer.text
    assert TOKEN not in answer.text
    assert f"{PATH}/new" not in answer.text


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_change_and_test(browser, alpha, role):
    made = make_channel(alpha)
    client = browser(alpha, role=role)

    assert client.get(f"{PATH}/new").status_code == 403
    assert client.post(f"{PATH}/new", {**FORM, "name": "other"}).status_code == 403
    for path in ("", "/remove", "/test"):
        assert client.post(f"{PATH}/{made.pk}{path}", FORM).status_code == 403
    assert AlertChannel.objects.get().version == 1


def test_an_admin_adds_a_channel_and_no_page_shows_its_url(browser, alpha):
    client = browser(alpha, role="admin")
    rule = AlertRule.objects.create(tenant=alpha, name="Mine", kind="late_start")

    answer = client.post(f"{PATH}/new", {**FORM, "rules": [str(rule.pk)]}, follow=True)

    made = AlertChannel.objects.get()
    assert (open_url(made), made.kinds) == (URL, ["final_failure"])
    assert [one.rule_id for one in made.rules.all()] == [rule.pk]
    assert TOKEN not in answer.text + client.get(f"{PATH}/{made.pk}").text


def test_a_form_with_errors_comes_back_without_the_url(browser, alpha):
    wrong = {**FORM, "channel_url": f"ftp://x/{TOKEN}", "name": ""}

    answer = browser(alpha, role="admin").post(f"{PATH}/new", wrong)

    assert answer.status_code == 400
    assert 'id="channel_url-error"' in answer.text
    assert 'id="name-error"' in answer.text
    assert TOKEN not in answer.text
    assert not AlertChannel.objects.exists()


def test_an_empty_url_stays_and_an_old_form_changes_nothing(browser, alpha):
    made = make_channel(alpha)
    client = browser(alpha, role="admin")

    client.post(f"{PATH}/{made.pk}", {**FORM, "channel_url": "", "version": "1"})
    stale = client.post(f"{PATH}/{made.pk}", {**FORM, "name": "late", "version": "1"})

    kept = AlertChannel.objects.get()
    assert (open_url(kept), kept.version, kept.name) == (URL, 2, "on-call")
    assert stale.status_code == 400


def test_the_test_button_shows_the_real_answer(browser, alpha, monkeypatch):
    allow_loopback(monkeypatch)
    client = browser(alpha, role="admin")
    with http_receiver() as receiver:
        made = make_channel(alpha, url=receiver.url)
        receiver.body = b"got it"
        taken = client.post(f"{PATH}/{made.pk}/test", follow=True)
        # The page's script opens the list, which shows the message.
        by_script = client.post(f"{PATH}/{made.pk}/test", headers={"X-Form": "1"})
        receiver.status, receiver.body = 404, b"no_such_hook"
        refused = client.post(f"{PATH}/{made.pk}/test", follow=True)

    assert "HTTP 200: got it" in taken.text
    assert by_script.json() == {"location": PATH}
    assert "HTTP 404. It said: no_such_hook" in refused.text


def test_an_admin_removes_a_channel(browser, alpha):
    made = make_channel(alpha)

    browser(alpha, role="admin").post(f"{PATH}/{made.pk}/remove")

    assert not AlertChannel.objects.exists()


def test_a_time_that_is_no_whole_minute_stays_when_the_form_is_saved(browser, alpha):
    made = make_channel(alpha, after_seconds=100)
    client = browser(alpha, role="admin")

    shown = client.get(f"{PATH}/{made.pk}").text
    client.post(f"{PATH}/{made.pk}", {**FORM, "after_minutes": "1.6667", "version": "1"})
    refused = client.post(f"{PATH}/{made.pk}", {**FORM, "after_minutes": "soon"})

    assert 'value="1.6667"' in shown
    assert "after 1 m 40 s unacknowledged" in client.get(PATH).text
    assert AlertChannel.objects.get().after_seconds == 100
    assert 'id="after_minutes-error"' in refused.text


def test_rules_beyond_three_are_counted(browser, alpha):
    rules = [
        AlertRule.objects.create(tenant=alpha, name=f"Rule {number}", kind="late_start")
        for number in range(5)
    ]
    make_channel(alpha, rules=[str(rule.pk) for rule in rules])

    assert "and 2 more rules" in browser(alpha, role="viewer").get(PATH).text
