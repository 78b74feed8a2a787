"""A tenant's suspension as an operator begins and ends it."""

from __future__ import annotations

from shared.actor import COMMAND
from tenants.models import Tenant
from tenants.services import resume_tenant, suspend_tenant


def suspend(tenant: Tenant) -> None:
    suspend_tenant(tenant.id, actor=COMMAND)


def resume(tenant: Tenant) -> None:
    resume_tenant(tenant.id, actor=COMMAND)
