from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from events.models import AuditEntry
from tenants.models import Membership
from tests.support.admin import AdminBrowser, make_admin

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", password="a-long-phrase-of-words")


def save(browser, user, *rows, initial=0):
    data = {
        "username": user.username,
        "is_active": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "memberships-TOTAL_FORMS": str(len(rows)),
        "memberships-INITIAL_FORMS": str(initial),
    }
    for place, row in enumerate(rows):
        data |= {f"memberships-{place}-{name}": str(value) for name, value in row.items()}
        data[f"memberships-{place}-user"] = str(user.pk)
    answer = browser.client.post(f"/admin/auth/user/{user.pk}/change/", data)
    assert answer.status_code == 302, answer.context["errors"]


def actions(tenant):
    rows = AuditEntry.objects.filter(tenant_id=tenant.pk, object_kind="member")
    return list(rows.order_by("sequence").values_list("action", flat=True))


def test_roles_are_given_changed_and_taken_by_the_service(browser, ada, alpha):
    save(browser, ada, {"tenant": alpha.pk, "role": "viewer"})
    member = Membership.objects.get(user=ada)
    assert (member.tenant, member.role) == (alpha, "viewer")

    row = {"id": member.pk, "tenant": alpha.pk, "role": "operator"}
    save(browser, ada, row, initial=1)
    member.refresh_from_db()
    assert member.role == "operator"

    save(browser, ada, {**row, "DELETE": "on"}, initial=1)
    assert not Membership.objects.filter(user=ada).exists()
    assert actions(alpha) == ["member.set", "member.set", "member.removed"]


def test_a_role_that_moves_to_another_tenant_leaves_the_first(browser, ada, alpha, beta):
    save(browser, ada, {"tenant": alpha.pk, "role": "viewer"})
    member = Membership.objects.get(user=ada)

    save(browser, ada, {"id": member.pk, "tenant": beta.pk, "role": "viewer"}, initial=1)

    assert Membership.objects.get(user=ada).tenant == beta
    assert actions(alpha) == ["member.set", "member.removed"]
    assert actions(beta) == ["member.set"]


def test_users_are_made_without_roles_first(browser):
    page = browser.client.get("/admin/auth/user/add/")

    assert page.status_code == 200
    assert b"memberships-TOTAL_FORMS" not in page.content
