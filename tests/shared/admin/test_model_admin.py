from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User

from shared.exceptions import Unavailable
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_task, make_tenant
from tests.support.admin import AdminBrowser, make_admin, said

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()


@pytest.fixture
def task(db: None) -> Task:
    return make_task(make_tenant("Alpha"))


def test_nobody_without_staff_sees_the_admin(task):
    visitor = AdminBrowser(User.objects.create_user("visitor"))

    for answer in (visitor.list(Task), visitor.page(task), visitor.act(Task, "pause", [task])):
        assert answer.status_code == 302
        assert "login" in answer.url
    task.refresh_from_db()
    assert task.status == "SCHEDULED"


def test_staff_may_look_without_acting(task):
    member = User.objects.create_user("clerk", is_staff=True)
    member.user_permissions.add(Permission.objects.get(codename="view_task"))
    clerk = AdminBrowser(member)

    assert clerk.list(Task).status_code == 200
    assert clerk.page(task).status_code == 200
    assert clerk.list(Tenant).status_code == 403
    assert b'name="action"' not in clerk.list(Task).content
    clerk.act(Task, "pause", [task])
    task.refresh_from_db()
    assert task.status == "SCHEDULED"


def test_pages_offer_no_editing_of_what_services_own(browser, task):
    page = browser.page(task).content.decode()

    assert 'name="_save"' not in page
    assert f'href="/tasks/{task.pk}"' in page
    assert browser.client.post(f"/admin/tasks/task/{task.pk}/change/").status_code == 403
    assert browser.client.get("/admin/tasks/task/add/").status_code == 403
    assert browser.client.get(f"/admin/tasks/task/{task.pk}/delete/").status_code == 403


def test_an_action_over_everything_is_sent_to_bulk_jobs(browser, task):
    answer = browser.act(Task, "pause", [task], select_across="1")

    assert "bulk job" in said(answer)
    task.refresh_from_db()
    assert task.status == "SCHEDULED"


@pytest.mark.parametrize("key", ["nonsense", "", "1"])
def test_a_made_up_row_is_refused(browser, task, key):
    answer = browser.client.post(
        "/admin/tasks/task/", {"action": "pause", "_selected_action": [key]}
    )

    assert answer.status_code == 302
    assert "not a row" in said(answer)


@pytest.mark.parametrize("key", ["nonsense", "%00", "00000000-0000-0000-0000-000000000000"])
def test_a_row_that_is_not_there_leads_back(browser, key):
    assert browser.client.get(f"/admin/tasks/task/{key}/change/").status_code == 302


@pytest.mark.parametrize("text", ["nightly", "'\"%_\\", "00000000-0000-0000-0000-000000000000"])
def test_every_list_can_be_searched_for_anything(browser, task, text):
    from django.contrib import admin

    from shared.admin import ProductAdmin

    doors = [door for door in admin.site._registry.values() if isinstance(door, ProductAdmin)]
    for door in doors:
        if door.search_fields:
            assert browser.list(door.model, q=text).status_code == 200, door


def test_a_refused_form_says_why(browser, monkeypatch):
    from tenants.admin import tenants

    def refuse(*args, **kwargs):
        raise Unavailable("Redis is away.")

    monkeypatch.setattr(tenants, "create_tenant", refuse)
    answer = browser.client.post("/admin/tenants/tenant/add/", {"name": "Beta"})

    assert answer.status_code == 302
    assert said(answer) == "Redis is away."
    assert not Tenant.objects.filter(name="Beta").exists()
