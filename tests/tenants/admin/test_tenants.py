from __future__ import annotations

import pytest

from events.models import AuditEntry
from tenants.models import SigningSecret, Tenant
from tests.support.admin import AdminBrowser, make_admin, said

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()


def change(browser, tenant, **fields):
    members = {"TOTAL_FORMS": "0", "INITIAL_FORMS": "0"}
    prefixed = {f"memberships-{name}": value for name, value in members.items()}
    given = {**prefixed, "default_jitter_seconds": "0", **fields}
    return browser.client.post(f"/admin/tenants/tenant/{tenant.pk}/change/", given)


def test_a_tenant_is_created_by_the_service(browser):
    answer = browser.client.post("/admin/tenants/tenant/add/", {"name": "Beta", "unlimited": "on"})

    tenant = Tenant.objects.get(name="Beta")
    assert answer.status_code == 302
    assert tenant.unlimited
    assert SigningSecret.objects.filter(tenant=tenant).exists()
    entry = AuditEntry.objects.get(tenant_id=tenant.pk)
    assert (entry.action, entry.actor) == ("tenant.created", f"user:{browser.user.pk}")


def test_a_taken_name_is_an_error_of_the_form(browser, alpha):
    answer = browser.client.post("/admin/tenants/tenant/add/", {"name": "Alpha"})

    assert answer.status_code == 200
    assert b"already exists" in answer.content


def test_settings_are_changed_by_the_service(browser, alpha):
    answer = change(browser, alpha, idempotency_seconds="172800", idempotency_required="on")

    assert answer.status_code == 302
    alpha.refresh_from_db()
    assert (alpha.idempotency_seconds, alpha.idempotency_required) == (172800, True)
    entry = AuditEntry.objects.get(tenant_id=alpha.pk, action="tenant.changed")
    assert entry.actor == f"user:{browser.user.pk}"


def test_a_setting_out_of_range_is_refused(browser, alpha):
    answer = change(browser, alpha, idempotency_seconds="5")

    assert b"idempotency_seconds" in answer.content or "86400" in said(answer)
    alpha.refresh_from_db()
    assert alpha.idempotency_seconds == 86400


def test_tenants_are_suspended_after_a_question_and_resumed(browser, alpha, beta):
    asked = browser.act(Tenant, "suspend", [alpha, beta])
    assert b"get 403" in asked.content
    assert not Tenant.objects.exclude(suspended_at=None).exists()

    done = browser.confirm(Tenant, "suspend", [alpha])
    again = browser.confirm(Tenant, "suspend", [alpha, beta])
    back = browser.act(Tenant, "resume", [alpha, beta])

    assert said(done) == "1 suspended, 0 skipped, 0 failed."
    assert said(again) == "1 suspended, 1 skipped (already suspended), 0 failed."
    assert said(back) == "2 resumed, 0 skipped, 0 failed."
