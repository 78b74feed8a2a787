from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from events.audit import INSTALLATION
from events.models import AuditEntry
from tenants.models import Membership, SecondFactor, SignIn
from tests.support.admin import AdminBrowser, make_admin
from tests.support.second_factors import enrol

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


@pytest.fixture
def staff(db: None) -> AdminBrowser:
    user = User.objects.create_user("staff", password="a-long-phrase-of-words", is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    return AdminBrowser(user)


def rights(user):
    fresh = User.objects.get(pk=user.pk)
    return fresh.is_staff, fresh.is_superuser, fresh.get_all_permissions()


def test_staff_gives_no_rights_to_itself_or_to_others(staff, ada):
    for user in (staff.user, ada):
        before = rights(user)
        every = [str(one.pk) for one in Permission.objects.all()]
        data = {
            "username": user.username,
            "is_active": "on",
            "is_staff": "on",
            "is_superuser": "on",
            "user_permissions": every,
            "groups": [str(Group.objects.create(name=f"group of {user}").pk)],
            "date_joined_0": "2026-01-01",
            "date_joined_1": "00:00:00",
            "memberships-TOTAL_FORMS": "0",
            "memberships-INITIAL_FORMS": "0",
        }

        answer = staff.client.post(f"/admin/auth/user/{user.pk}/change/", data)

        assert answer.status_code == 302
        assert rights(user) == before
        assert not user.groups.exists()


def test_staff_gives_itself_no_role_in_a_tenant_by_either_page(staff, alpha):
    row = {"tenant": alpha.pk, "user": staff.user.pk, "role": "owner"}
    rows = {f"memberships-0-{name}": str(value) for name, value in row.items()}
    rows |= {"memberships-TOTAL_FORMS": "1", "memberships-INITIAL_FORMS": "0"}
    times = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    account = {"username": "staff", "is_active": "on", **times}
    tenant = {"name": "Mine", "default_jitter_seconds": "0", "idempotency_seconds": "86400"}

    answers = [
        staff.client.post(f"/admin/auth/user/{staff.user.pk}/change/", {**account, **rows}),
        staff.client.post(f"/admin/tenants/tenant/{alpha.pk}/change/", {**tenant, **rows}),
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert not Membership.objects.filter(user=staff.user).exists()
    alpha.refresh_from_db()
    assert alpha.name != "Mine"


def test_staff_does_not_touch_accounts_that_may_do_more(staff):
    root = User.objects.create_superuser("root", password="a-long-phrase-of-words")
    path = f"/admin/auth/user/{root.pk}"
    new = {"password1": "another-long-phrase", "password2": "another-long-phrase"}

    answers = [
        staff.client.post(f"{path}/change/", {"username": "mine", "is_active": "on"}),
        staff.client.post(f"{path}/password/", {**new, "usable_password": "true"}),
        staff.client.post(f"{path}/delete/", {"post": "yes"}),
        staff.confirm(User, "delete_selected", [root], post="yes"),
    ]

    assert [answer.status_code for answer in answers[:3]] == [403, 403, 403]
    fresh = User.objects.get(pk=root.pk)
    assert fresh.username == "root"
    assert fresh.check_password("a-long-phrase-of-words")


def test_groups_are_changed_by_superusers_only(staff, browser):
    group = Group.objects.create(name="helpers")
    every = {"name": "helpers", "permissions": [str(one.pk) for one in Permission.objects.all()]}

    for path in (f"/admin/auth/group/{group.pk}/change/", "/admin/auth/group/add/"):
        assert staff.client.post(path, every).status_code == 403
    assert (
        staff.client.post(f"/admin/auth/group/{group.pk}/delete/", {"post": 1}).status_code == 403
    )
    assert not group.permissions.exists()

    path = f"/admin/auth/group/{group.pk}/change/"
    assert browser.client.post(path, every).status_code == 302
    assert group.permissions.exists()
    assert accounts_audited() == ["group.changed"]


def accounts_audited():
    entries = AuditEntry.objects.filter(tenant_id=INSTALLATION).order_by("sequence")
    return list(entries.values_list("action", flat=True))


def test_what_becomes_of_accounts_is_audited(browser, ada):
    data = {"username": "bob", "usable_password": "true"}
    new = {"password1": "another-long-phrase", "password2": "another-long-phrase"}
    browser.client.post("/admin/auth/user/add/", {**data, **new})
    bob = User.objects.get(username="bob")
    data = {
        "username": "bob",
        "is_active": "on",
        "is_superuser": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "memberships-TOTAL_FORMS": "0",
        "memberships-INITIAL_FORMS": "0",
    }
    browser.client.post(f"/admin/auth/user/{bob.pk}/change/", data)
    browser.client.post(f"/admin/auth/user/{bob.pk}/password/", {**new, "usable_password": "true"})
    browser.client.get(f"/admin/auth/user/{bob.pk}/password/")
    browser.client.post(f"/admin/auth/user/{bob.pk}/delete/", {"post": "yes"})
    browser.confirm(User, "delete_selected", [ada], post="yes")

    assert accounts_audited() == [
        "user.created",
        "user.changed",
        "user.password_set",
        "user.deleted",
        "user.deleted",
    ]
    entries = AuditEntry.objects.filter(tenant_id=INSTALLATION).order_by("sequence")
    assert {entry.actor for entry in entries} == {f"user:{browser.user.pk}"}
    changed = entries.get(action="user.changed")
    assert changed.after == '{"is_superuser":true}'


def test_a_password_that_another_person_sets_ends_the_sessions(browser, ada):
    client = Client()
    client.force_login(ada)
    form = {"password1": "correct horse battery", "password2": "correct horse battery"}

    answer = browser.client.post(f"/admin/auth/user/{ada.pk}/password/", form)

    assert answer.status_code == 302
    assert SignIn.objects.get(user=ada).ended_by == "password"
    assert client.get("/account").status_code == 302


def test_the_sessions_of_an_account_that_is_no_longer_active_end(browser, ada):
    client = Client()
    client.force_login(ada)
    data = {
        "username": "ada",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "memberships-TOTAL_FORMS": "0",
        "memberships-INITIAL_FORMS": "0",
    }

    assert browser.client.post(f"/admin/auth/user/{ada.pk}/change/", data).status_code == 302

    assert SignIn.objects.get(user=ada).ended_by == "ended"


def test_an_account_with_sessions_and_a_second_factor_is_deleted_with_them(browser, ada):
    Client().force_login(ada)
    enrol(ada)

    answer = browser.client.post(f"/admin/auth/user/{ada.pk}/delete/", {"post": "yes"})

    assert answer.status_code == 302
    assert not User.objects.filter(pk=ada.pk).exists()
    assert not SecondFactor.objects.exists()


def path_of_password(user, spelling):
    return f"/admin/auth/user/{spelling.format(user.pk)}/password/"


@pytest.mark.parametrize("spelling", ["{}", "0{}", "+{}"])
def test_ones_own_password_is_changed_on_the_page_of_the_account_only(browser, spelling):
    form = {"password1": "correct horse battery", "password2": "correct horse battery"}

    answer = browser.client.post(path_of_password(browser.user, spelling), form)

    assert answer.url == "/account"
    assert not User.objects.get(pk=browser.user.pk).check_password("correct horse battery")


def test_a_password_that_is_set_by_a_quoted_address_ends_the_sessions_and_is_audited(browser, ada):
    Client().force_login(ada)
    form = {"password1": "correct horse battery", "password2": "correct horse battery"}

    answer = browser.client.post(path_of_password(ada, "_2B{}"), form)

    assert answer.status_code == 302
    assert SignIn.objects.get(user=ada).ended_by == "password"
    assert "user.password_set" in accounts_audited()
