"""Who follows a suspension, and who asks whether a tenant is suspended."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from shared.actor import COMMAND, Actor
from tenants import suspension
from tenants.models import Tenant
from tenants.services import resume_tenant, suspend_tenant
from tenants.suspension import TenantSuspended, is_suspended, require_active, suspended_tenants


def test_followers_are_told_once_of_each_end_and_again_of_a_suspension_that_may_lack_something(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    told: list[tuple[str, UUID, Actor]] = []

    def begun(tenant_id: UUID, actor: Actor) -> None:
        told.append(("suspended", tenant_id, actor))

    def ended(tenant_id: UUID, actor: Actor) -> None:
        told.append(("resumed", tenant_id, actor))

    monkeypatch.setattr(suspension, "_followers", [])
    for _ in range(2):
        suspension.follow(begun, ended)
    for _ in range(2):
        suspend_tenant(alpha.id, actor=COMMAND)
    for _ in range(2):
        resume_tenant(alpha.id, actor=COMMAND)

    assert [word for word, _, _ in told] == ["suspended", "suspended", "resumed"]
    assert {(tenant, actor) for _, tenant, actor in told} == {(alpha.id, COMMAND)}


def test_a_suspended_tenant_is_refused_and_no_other(alpha: Tenant, beta: Tenant):
    suspend_tenant(alpha.id, actor=COMMAND)

    assert list(suspended_tenants()) == [alpha.id]
    assert is_suspended(alpha.id)
    with pytest.raises(TenantSuspended) as refused:
        require_active(alpha.id)
    assert (refused.value.status, refused.value.code) == (403, "tenant_suspended")
    for other in (beta.id, uuid4()):
        require_active(other)
