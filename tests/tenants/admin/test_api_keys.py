from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Permission, User

from events.models import AuditEntry
from tenants.models import ApiKey
from tenants.services.api_keys import hash_key
from tests.factories import make_key
from tests.support.admin import AdminBrowser, make_admin, said

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()


def add(browser, tenant, **fields):
    body = {"tenant": str(tenant.pk), "name": "deploy", "scopes": ["read", "write"], **fields}
    return browser.client.post("/admin/tenants/apikey/add/", body)


def test_a_new_key_is_shown_once_and_works(browser, alpha):
    answer = add(browser, alpha)

    key = ApiKey.objects.get(name="deploy")
    (text,) = re.findall(r'class="key-once">([^<]+)<', answer.content.decode())
    assert bytes(key.key_hash) == hash_key(text)
    assert key.scopes == ["read", "write"]
    assert "no-store" in answer.headers["Cache-Control"]
    assert AuditEntry.objects.filter(object_id=str(key.pk), action="api_key.created").exists()
    assert text not in browser.list(ApiKey).content.decode()
    assert text not in browser.page(key).content.decode()


def test_a_new_key_may_have_an_address_list(browser, alpha):
    add(browser, alpha, addresses="203.0.113.0/24, 2001:db8::1")

    key = ApiKey.objects.get(name="deploy")
    assert key.addresses == ["203.0.113.0/24", "2001:db8::1/128"]
    assert b"203.0.113.0/24" in browser.page(key).content


def test_staff_makes_no_owners_key(alpha):
    user = User.objects.create_user("staff", password="a-long-phrase-of-words", is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    staff = AdminBrowser(user)

    assert b'name="owner"' not in staff.client.get("/admin/tenants/apikey/add/").content
    add(staff, alpha, owner="on")

    assert not ApiKey.objects.get(name="deploy").owner


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scopes", []),
        ("scopes", ["root"]),
        ("expires_at", "2001-01-01T00:00"),
        ("addresses", "203.0.113.7/24"),
    ],
)
def test_a_key_that_makes_no_sense_is_an_error_of_the_form(browser, alpha, field, value):
    answer = add(browser, alpha, **{field: value})

    assert answer.status_code == 200
    assert b"errorlist" in answer.content
    assert not ApiKey.objects.filter(name="deploy").exists()


def test_keys_are_revoked_after_a_question(browser, alpha):
    key, _ = make_key(alpha)

    asked = browser.act(ApiKey, "revoke", [key])
    done = browser.confirm(ApiKey, "revoke", [key])
    again = browser.confirm(ApiKey, "revoke", [key])

    assert b"refused from now on" in asked.content
    assert said(done) == "1 revoked, 0 skipped, 0 failed."
    assert said(again) == "0 revoked, 1 skipped (already revoked), 0 failed."
    key.refresh_from_db()
    assert key.revoked_at is not None
