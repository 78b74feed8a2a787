"""A member who reads a payload, a result or a log has an entry: one an hour for each row."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from dashboard import urls
from dashboard.live_parts import HAVE
from dashboard.readings import PAGES
from events.models import AuditEntry, Event
from tenants.choices import Role
from tenants.models import Membership
from tests.factories import make_execution, make_task
from tests.support.closed_redis import closed_redis


def readings(tenant):
    found = AuditEntry.objects.filter(tenant_id=tenant.pk, action="payload.read")
    return list(found.order_by("sequence").values_list("object_kind", "object_id"))


@pytest.fixture
def no_redis(monkeypatch):
    monkeypatch.setattr("shared.windowed_counts.client", closed_redis)


def test_a_page_is_one_entry_however_often_it_is_read(browser, alpha):
    task, member = make_task(alpha), browser(alpha)
    for _ in range(3):
        member.get(f"/tasks/{task.id}")

    assert readings(alpha) == [("task", str(task.id))]


def test_a_reading_is_no_change_of_the_row(browser, alpha):
    task, member = make_task(alpha), browser(alpha)
    before = Event.objects.count()

    member.get(f"/tasks/{task.id}")

    assert readings(alpha)
    assert Event.objects.count() == before


def test_a_reading_that_could_not_be_recorded_is_not_shown_and_counts_anew(
    browser, alpha, monkeypatch
):
    task, member = make_task(alpha), browser(alpha)
    with monkeypatch.context() as patch:
        patch.setattr("dashboard.readings.audit.record", _fail)
        assert member.get(f"/tasks/{task.id}").status_code == 503
    assert readings(alpha) == []

    member.get(f"/tasks/{task.id}")
    assert readings(alpha) == [("task", str(task.id))]


def _fail(*_):
    raise OperationalError("the server closed the connection unexpectedly")


def test_who_sees_no_payloads_has_no_entry(browser, alpha):
    task, member = make_task(alpha), browser(alpha, role=Role.VIEWER)
    Membership.objects.filter(tenant=alpha).update(sees_payloads=False)

    assert member.get(f"/tasks/{task.id}").status_code == 200
    assert readings(alpha) == []


def test_each_member_and_each_row_has_its_entry(browser, alpha):
    execution = make_execution(alpha)
    for member in (browser(alpha), browser(alpha)):
        member.get(f"/executions/{execution.id}")
        member.get(f"/tasks/{execution.task_id}")

    assert len(readings(alpha)) == 4


def test_a_page_that_shows_nothing_has_no_entry(browser, alpha, beta):
    task = make_task(beta)

    assert browser(alpha).get(f"/tasks/{task.id}").status_code == 404
    assert readings(alpha) == readings(beta) == []


def test_a_form_that_copies_a_task_is_a_reading_of_it(browser, alpha):
    task, member = make_task(alpha), browser(alpha)
    member.get("/tasks/new")
    assert readings(alpha) == []

    assert member.get(f"/tasks/new?copy={task.id}").status_code == 200
    member.get(f"/tasks/new?copy={task.id.hex}")

    assert readings(alpha) == [("task", str(task.id))]


def test_lists_have_no_entries(browser, alpha):
    make_task(alpha)
    for path in ("/tasks", "/executions", "/dead-letters", "/"):
        assert browser(alpha).get(path).status_code == 200

    assert readings(alpha) == []


@pytest.mark.usefixtures("no_redis")
@pytest.mark.logs("readings.not_counted")
def test_while_redis_is_away_each_page_has_an_entry_and_its_updates_none(browser, alpha):
    task, member = make_task(alpha), browser(alpha)
    member.get(f"/tasks/{task.id}")
    member.get(f"/tasks/{task.id}", headers={HAVE: "x"})

    assert readings(alpha) == [("task", str(task.id))]


def test_the_pages_are_routes_with_their_parameters():
    routes = {str(route.name): str(route.pattern) for route in urls.urlpatterns}

    for name, (_, parameter) in PAGES.items():
        assert f":{parameter}>" in routes[name]
