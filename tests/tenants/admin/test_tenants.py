from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import Permission, User

from events.models import AuditEntry
from shared.conf import conf
from tenants.models import SigningSecret, Tenant
from tests.support.admin import AdminBrowser, make_admin, said

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()


def change(browser, tenant, **fields):
    members = {"TOTAL_FORMS": "0", "INITIAL_FORMS": "0"}
    prefixed = {f"memberships-{name}": value for name, value in members.items()}
    given = {**prefixed, "default_jitter_seconds": "0", "tier": "default", "weight": "1", **fields}
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


def test_a_superuser_changes_quotas_by_the_service(browser, alpha):
    answer = change(browser, alpha, idempotency_seconds="86400", quotas='{"stored_tasks": 5}')

    assert answer.status_code == 302
    alpha.refresh_from_db()
    assert alpha.quotas == {"stored_tasks": 5}
    entry = AuditEntry.objects.get(tenant_id=alpha.pk, action="tenant.quotas_changed")
    assert entry.actor == f"user:{browser.user.pk}"

    # As the form of the page sends what it showed.
    shown = {"initial-quotas": '{"stored_tasks": 5}', "quotas": ""}
    change(browser, alpha, idempotency_seconds="86400", **shown)

    alpha.refresh_from_db()
    assert alpha.quotas == {}


@pytest.mark.parametrize("quotas", ['{"stored_tasks": -1}', '{"tasks": 1}', "[1]", '"x"'])
def test_quotas_that_cannot_be_are_refused(browser, alpha, quotas):
    answer = change(browser, alpha, idempotency_seconds="86400", quotas=quotas)

    sentences = said(answer).split(". ")
    assert len(sentences) == len(set(sentences))
    alpha.refresh_from_db()
    assert (alpha.quotas, alpha.version) == ({}, 1)


def test_who_may_change_tenants_but_is_no_superuser_lifts_no_limit(alpha):
    person = User.objects.create_user("staff", is_staff=True)
    person.user_permissions.set(
        Permission.objects.filter(codename__in=("change_tenant", "view_tenant"))
    )
    staff = AdminBrowser(person)
    Tenant.objects.filter(pk=alpha.pk).update(quotas={"stored_tasks": 5})

    change(
        staff,
        alpha,
        idempotency_seconds="172800",
        unlimited="on",
        quotas='{"stored_tasks": 99}',
        weight="9",
    )

    alpha.refresh_from_db()
    assert alpha.idempotency_seconds == 172800
    assert (alpha.quotas, alpha.unlimited) == ({"stored_tasks": 5}, False)
    assert alpha.weight == 1


def test_a_superuser_changes_the_weight(browser, alpha):
    change(browser, alpha, idempotency_seconds="86400", weight="9")

    alpha.refresh_from_db()
    assert alpha.weight == 9
    assert AuditEntry.objects.filter(tenant_id=alpha.pk, action="tenant.quotas_changed").exists()


def test_who_may_add_tenants_but_is_no_superuser_makes_none_without_limits():
    person = User.objects.create_user("staff", is_staff=True)
    person.user_permissions.set(
        Permission.objects.filter(codename__in=("add_tenant", "view_tenant"))
    )
    staff = AdminBrowser(person)

    staff.client.post("/admin/tenants/tenant/add/", {"name": "Beta", "unlimited": "on"})

    assert not Tenant.objects.get(name="Beta").unlimited


def test_a_new_tier_leaves_the_limits_that_were_set_meanwhile(
    browser, alpha, settings, monkeypatch
):
    settings.PUNCTUAL = replace(conf(), tiers={"small": {"stored_tasks": 1}})
    asked = []
    monkeypatch.setattr(
        "tenants.admin.tenants.change_quotas", lambda *_, **given: asked.append(given)
    )

    shown = {"initial-quotas": "{}", "quotas": "{}"}
    change(browser, alpha, idempotency_seconds="86400", tier="small", **shown)

    [given] = asked
    assert given.keys() == {"actor", "tier"}
    assert given["tier"] == "small"


def test_a_tier_that_this_process_does_not_know_stays_with_another_change(browser, alpha):
    Tenant.objects.filter(pk=alpha.pk).update(tier="gold")

    page = browser.page(alpha)
    change(browser, alpha, idempotency_seconds="172800", tier="gold")

    assert '<option value="gold" selected>' in page.content.decode()
    alpha.refresh_from_db()
    assert (alpha.tier, alpha.idempotency_seconds) == ("gold", 172800)
