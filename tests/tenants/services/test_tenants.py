from __future__ import annotations

from uuid import uuid4

import pytest

from events import audit
from events.models import AuditEntry
from shared.actor import COMMAND
from shared.exceptions import Conflict, InvalidInput, NotFound
from tenants.models import SigningSecret, Tenant
from tenants.services import (
    change_tenant,
    create_tenant,
    get_tenant,
    resume_tenant,
    suspend_tenant,
)

pytestmark = pytest.mark.django_db


def test_a_new_tenant_has_a_signing_secret_and_an_audit_entry():
    tenant = create_tenant("Billing", actor=COMMAND, unlimited=True)

    assert Tenant.objects.get(pk=tenant.pk).unlimited
    assert SigningSecret.objects.filter(tenant=tenant, expires_at=None).count() == 1
    entry = AuditEntry.objects.get(tenant_id=tenant.id)
    assert (entry.action, entry.actor) == ("tenant.created", COMMAND.name)
    assert audit.verify(tenant.id) == (1, None)


def test_a_taken_name_is_a_conflict_and_leaves_nothing(alpha):
    with pytest.raises(Conflict) as raised:
        create_tenant("Alpha", actor=COMMAND)

    assert raised.value.code == "name_taken"
    assert SigningSecret.objects.count() == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\x00b"])
def test_a_bad_name_is_refused_before_the_database(name):
    with pytest.raises(InvalidInput):
        create_tenant(name, actor=COMMAND)


def test_a_tenant_is_found_by_name_or_id(alpha):
    assert get_tenant("Alpha") == get_tenant(str(alpha.id)) == alpha
    for unknown in ("Gamma", str(uuid4())):
        with pytest.raises(NotFound):
            get_tenant(unknown)


def test_settings_change_with_an_audit_entry(alpha):
    changed = change_tenant(alpha.id, {"unlimited": True}, actor=COMMAND)
    change_tenant(alpha.id, {"unlimited": True}, actor=COMMAND)

    assert changed.unlimited
    entry = AuditEntry.objects.get(tenant_id=alpha.id, action="tenant.changed")
    assert (entry.before, entry.after) == ('{"unlimited":false}', '{"unlimited":true}')


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "Gamma"},
        {"idempotency_seconds": 5},
        {"default_jitter_seconds": -1},
        {"default_jitter_seconds": 86_401},
        {"default_jitter_seconds": float("nan")},
    ],
)
def test_settings_that_are_none_or_out_of_range_are_refused(alpha, settings):
    with pytest.raises(InvalidInput):
        change_tenant(alpha.id, settings, actor=COMMAND)


def test_a_tenant_is_suspended_and_resumed_once(alpha):
    for _ in range(2):
        assert suspend_tenant(alpha.id, actor=COMMAND).suspended_at
    for _ in range(2):
        assert resume_tenant(alpha.id, actor=COMMAND).suspended_at is None

    entries = AuditEntry.objects.filter(tenant_id=alpha.id).order_by("sequence")
    assert [entry.action for entry in entries] == [
        "tenant.created",
        "tenant.suspended",
        "tenant.resumed",
    ]


@pytest.mark.parametrize("verb", [suspend_tenant, resume_tenant])
def test_a_tenant_that_is_not_there_is_not_found(db, verb):
    with pytest.raises(NotFound):
        verb(uuid4(), actor=COMMAND)


def test_a_tenants_name_has_no_hidden_characters():
    with pytest.raises(InvalidInput):
        create_tenant("Bill\u202eing", actor=COMMAND)
