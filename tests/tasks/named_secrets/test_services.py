"""Named secrets are written, changed and removed; each change is audited without the value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from events.models import AuditEntry
from shared.exceptions import (
    Conflict,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    VersionMismatch,
)
from tasks.models import NamedSecret
from tasks.named_secrets import reading, services
from tests.factories import ACTOR, daily, make_task
from tests.support.named_secrets import HOST, VALUE, body, make_secret, using

pytestmark = pytest.mark.django_db


def value_of(tenant: Any, name: str = "token") -> str:
    target = {"headers": {"X": f"{{{{ secrets.{name} }}}}"}}
    return reading.secrets_for(tenant.id, target).value_of(name)


def entries() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(object_kind="secret").order_by("sequence"))


def test_a_secret_is_stored_sealed_and_for_its_tenant(alpha, beta):
    made = make_secret(alpha)

    assert value_of(alpha) == VALUE
    assert VALUE.encode() not in bytes(NamedSecret.objects.get().sealed)
    assert (made.hosts, made.version, made.changed_by) == ([HOST], 1, ACTOR.name)
    with pytest.raises(NotFound):
        services.get_secret(beta.id, "token")
    assert not services.list_secrets(beta.id)


def test_another_tenant_may_have_the_same_name(alpha, beta):
    make_secret(alpha)
    make_secret(beta, value="other-value")

    assert (value_of(alpha), value_of(beta)) == (VALUE, "other-value")


def test_a_name_is_taken_once(alpha):
    make_secret(alpha)

    with pytest.raises(Conflict) as refused:
        make_secret(alpha)
    assert refused.value.code == "secret_exists"


def test_a_tenant_has_a_bounded_number(alpha, beta, monkeypatch):
    monkeypatch.setattr("tasks.named_secrets.services.NAMED_SECRETS", 1)
    make_secret(alpha)

    with pytest.raises(QuotaExceeded):
        make_secret(alpha, "second")
    make_secret(beta)


def test_a_new_value_takes_the_place_of_the_old_one(alpha):
    made = make_secret(alpha)

    changed = services.change_secret(alpha.id, "token", {"value": "new-value"}, actor=ACTOR)

    assert value_of(alpha) == "new-value"
    assert (changed.version, changed.hosts) == (2, [HOST])
    assert changed.written_at > made.written_at


def test_a_narrower_binding_keeps_the_value(alpha):
    made = make_secret(alpha, hosts=[HOST, "other.example"])

    changed = services.change_secret(alpha.id, "token", {"hosts": [HOST]}, actor=ACTOR)

    assert value_of(alpha) == VALUE
    assert (changed.hosts, changed.written_at) == ([HOST], made.written_at)


@pytest.mark.parametrize(
    "wider", [{"hosts": [HOST, "evil.example"]}, {"hosts": ["*"]}, {"commands": ["env"]}]
)
def test_a_wider_binding_needs_the_value_anew(alpha, wider):
    make_secret(alpha)

    with pytest.raises(InvalidInput) as refused:
        services.change_secret(alpha.id, "token", wider, actor=ACTOR)
    assert [(one.pointer, one.code) for one in refused.value.errors] == [
        ("#/value", "secret_required")
    ]
    services.change_secret(alpha.id, "token", {**wider, "value": "anew-value"}, actor=ACTOR)
    assert value_of(alpha) == "anew-value"


def test_a_binding_cannot_be_emptied(alpha):
    make_secret(alpha)

    with pytest.raises(InvalidInput):
        services.change_secret(alpha.id, "token", {"hosts": []}, actor=ACTOR)


def test_an_old_version_changes_nothing(alpha):
    make_secret(alpha)

    with pytest.raises(VersionMismatch):
        services.change_secret(
            alpha.id, "token", {"value": "new-value"}, actor=ACTOR, expected_version=2
        )
    assert value_of(alpha) == VALUE


def test_the_same_binding_is_no_change(alpha):
    make_secret(alpha)

    assert services.change_secret(alpha.id, "token", {"hosts": [HOST]}, actor=ACTOR).version == 1
    assert len(entries()) == 1


def test_a_secret_that_a_task_uses_is_not_removed(alpha):
    make_secret(alpha)
    task = make_task(alpha, daily(name="Invoices", target=using()))

    with pytest.raises(Conflict) as refused:
        services.remove_secret(alpha.id, "token", actor=ACTOR)
    assert refused.value.code == "secret_in_use"
    assert f"Invoices ({task.id})" in refused.value.message
    assert value_of(alpha) == VALUE


def test_a_task_that_has_ended_does_not_hold_a_secret(alpha):
    make_secret(alpha)
    task = make_task(alpha, daily(target=using()))
    type(task).objects.filter(pk=task.pk).update(status="CANCELLED")

    services.remove_secret(alpha.id, "token", actor=ACTOR)

    assert not NamedSecret.objects.exists()


def test_another_tenants_secret_is_neither_changed_nor_removed(alpha, beta):
    make_secret(alpha)

    with pytest.raises(NotFound):
        services.change_secret(beta.id, "token", {"value": "new-value"}, actor=ACTOR)
    with pytest.raises(NotFound):
        services.remove_secret(beta.id, "token", actor=ACTOR)


def test_every_change_is_audited_without_the_value(alpha):
    make_secret(alpha)
    services.change_secret(alpha.id, "token", {"value": "second-value"}, actor=ACTOR)
    services.remove_secret(alpha.id, "token", actor=ACTOR)

    found = entries()
    assert [one.action for one in found] == ["secret.created", "secret.updated", "secret.removed"]
    assert json.loads(found[1].after or "")["value_replaced"] is True
    for one in found:
        assert VALUE not in f"{one.before}{one.after}"
        assert "second-value" not in f"{one.before}{one.after}"


def test_a_refused_value_is_in_no_message(alpha):
    with pytest.raises(InvalidInput) as refused:
        services.create_secret(alpha.id, body(value=f"{VALUE}\0"), actor=ACTOR)
    assert VALUE not in repr(refused.value.errors)
