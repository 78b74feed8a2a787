"""Who sees a page, for which tenant; and what becomes of a change that is refused."""

from __future__ import annotations

import re

import pytest
from django.db import OperationalError
from django.test import Client

from api.idempotency import IdempotencyInProgress
from executions.models import Execution
from tests.dashboard.asking import messages_of
from tests.factories import daily, make_task


def test_a_stranger_is_sent_to_the_login_and_back(client, db):
    answer = client.get("/executions?status=FAILED")

    assert answer.status_code == 302
    assert answer.url == "/login?next=/executions%3Fstatus%3DFAILED"


def test_a_stranger_who_sent_a_form_comes_back_to_its_page(client, db):
    answer = client.post("/tasks/new", HTTP_REFERER="http://testserver/tasks?q=x")

    assert answer.url == "/login?next=/tasks%3Fq%3Dx"


def test_a_page_is_kept_by_no_cache_that_others_share(browser, alpha):
    assert browser(alpha).get("/executions")["Cache-Control"] == "private, no-cache"


def test_a_form_of_the_tenant_before_changes_nothing(browser, alpha, beta):
    task = make_task(alpha, daily())
    client = browser(alpha, beta)
    client.post("/tenant", {"tenant": str(beta.pk)})

    answer = client.post(f"/tasks/{task.pk}/run", {"form_tenant": str(alpha.pk)})
    made = client.post("/tasks/new", {"form_tenant": str(alpha.pk), "name": "x"})

    assert (answer.status_code, made.status_code) == (409, 409)
    assert "this form belongs to another tenant" in answer.text
    assert not Execution.objects.exists()


def test_a_form_under_way_that_is_sent_again_is_not_an_error(browser, alpha, monkeypatch):
    def under_way(*_):
        raise IdempotencyInProgress

    monkeypatch.setattr("dashboard.access.answer_once", under_way)
    task = make_task(alpha, daily())

    answer = browser(alpha).post(f"/tasks/{task.pk}/run", {"form_key": "k"}, follow=True)

    assert messages_of(answer) == ["The form was sent twice. The change is already under way."]


def test_a_user_without_a_tenant_is_told_so(browser, db):
    answer = browser().get("/executions")

    assert answer.status_code == 403
    assert "not a member of any tenant" in answer.text


def test_a_member_of_a_suspended_tenant_sees_nothing_of_it(browser, alpha):
    alpha.suspended_at = alpha.created_at
    alpha.save()

    answer = browser(alpha).get("/executions")

    assert answer.status_code == 403
    assert "Alpha is suspended (tenant_suspended)" in answer.text


def test_another_tenants_rows_are_not_there(browser, alpha, beta):
    task = make_task(beta, daily())

    assert browser(alpha).get(f"/tasks/{task.pk}").status_code == 404


def test_the_chosen_tenant_is_the_one_that_is_shown(browser, alpha, beta):
    client = browser(alpha, beta)
    client.post("/tenant", {"tenant": str(beta.pk)})

    assert client.get("/executions").context["visitor"].tenant == beta


def test_a_tenant_of_others_cannot_be_chosen(browser, alpha, beta):
    client = browser(alpha)

    answer = client.post("/tenant", {"tenant": str(beta.pk)}, follow=True)

    assert messages_of(answer) == ["You are not a member of that tenant."]
    assert client.get("/executions").context["visitor"].tenant == alpha


def test_a_viewer_may_not_act(browser, alpha):
    task = make_task(alpha, daily())

    answer = browser(alpha, role="viewer").post(f"/tasks/{task.pk}/run")

    assert answer.status_code == 403
    assert not Execution.objects.filter(task=task).exists()


def test_an_action_is_not_reached_by_a_link(browser, alpha):
    task = make_task(alpha, daily())

    assert browser(alpha).get(f"/tasks/{task.pk}/run").status_code == 405


def test_a_form_sent_twice_acts_once(browser, alpha):
    task = make_task(alpha, daily())
    client = browser(alpha)

    for _ in range(2):
        assert client.post(f"/tasks/{task.pk}/run", {"form_key": "k1"}).status_code == 302

    assert Execution.objects.filter(task=task).count() == 1


def test_the_same_form_with_other_contents_acts_again(browser, alpha):
    task = make_task(alpha, daily())
    client = browser(alpha)

    client.post(f"/tasks/{task.pk}/run", {"form_key": "k1", "payload": "1"})
    client.post(f"/tasks/{task.pk}/run", {"form_key": "k1", "payload": "2"})

    assert Execution.objects.filter(task=task).count() == 2


def test_a_refused_change_is_a_message_on_the_page_that_asked(browser, alpha):
    task = make_task(alpha, daily())
    client = browser(alpha)

    answer = client.post(f"/tasks/{task.pk}/resume", HTTP_REFERER="http://testserver/tasks?q=x")

    assert answer.url == "/tasks?q=x"


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example/",
        "https://evil.example/",
        "javascript:x",
        "/\\evil.example",
        "///evil.example",
    ],
)
def test_nobody_is_sent_to_another_site(browser, alpha, place):
    task = make_task(alpha, daily())

    answer = browser(alpha).post(f"/tasks/{task.pk}/pause", {"next": place})

    assert answer.url == "/"


def test_a_form_of_another_site_is_refused(alpha, browser):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser(alpha).cookies
    task = make_task(alpha, daily())

    assert strict.post(f"/tasks/{task.pk}/run").status_code == 403


@pytest.mark.logs("console.without_database")
def test_a_database_that_is_away_is_a_page_that_asks_again(browser, alpha, monkeypatch):
    client = browser(alpha)

    def away(*_):
        raise OperationalError("gone")

    monkeypatch.setattr("dashboard.access._visitor", away)
    answer = client.get("/executions")

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Accepted work is not lost" in answer.text


@pytest.mark.parametrize("zone", ["../../etc/passwd", "Nowhere/Town", "", "a" * 5000])
def test_a_zone_that_is_none_counts_as_utc(browser, alpha, zone):
    client = browser(alpha)
    client.cookies["punctual_zone"] = zone

    assert client.get("/executions").context["zone_name"] == "UTC"


def test_times_are_shown_in_the_zone_of_the_browser_or_in_utc(browser, alpha):
    client = browser(alpha)
    client.cookies["punctual_zone"] = "Europe/Berlin"

    assert client.get("/executions").context["zone_name"] == "Europe/Berlin"
    client.cookies["punctual_clock"] = "utc"
    assert client.get("/executions").context["zone_name"] == "UTC"


def test_a_value_that_makes_no_sense_is_a_page_and_not_a_crash(browser, alpha):
    answer = browser(alpha).get("/executions?status=NONSENSE")

    assert answer.status_code == 400
    assert re.search(r"<h1>Not understood</h1>", answer.text)
