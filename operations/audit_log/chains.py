"""Chooses the chain that a command reads: a tenant's, or the one of the installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from events.audit import INSTALLATION
from events.models import AuditChain
from operations.tenancy import chosen_tenant
from shared.commands import wrong_use
from shared.exceptions import NotFound
from tenants.models import Tenant

#: The name of the chain of acts that belong to no tenant.
NAME_OF_INSTALLATION = "installation"


def add_chain_options(parser: CommandParser) -> None:
    """Add the options that choose a chain."""
    parser.add_argument(
        "--tenant", help="name or id, also of a removed one; may be left out where there is one"
    )
    parser.add_argument(
        "--installation",
        action="store_true",
        help="acts that belong to no tenant: accounts, sign-ins, backups, repairs",
    )


def chosen_chain(options: Mapping[str, Any]) -> UUID:
    """Return the chain of the options; raise NotFound or InvalidInput where they name none."""
    if options["installation"]:
        if options["tenant"]:
            raise wrong_use("--installation", "leave --tenant out")
        return INSTALLATION
    try:
        found: UUID = chosen_tenant(options["tenant"]).id
        return found
    except NotFound:
        removed = _removed(options["tenant"])
        if removed is None:
            raise
        return removed


def all_chains() -> list[UUID]:
    """Return every chain that has an entry, in the order of their ids."""
    chains = AuditChain.objects.filter(sequence__gt=0)
    return sorted(set(chains.values_list("tenant_id", flat=True)))


def names_of(chains: list[UUID]) -> dict[UUID, str]:
    """Return the names of the chains: of tenants that are there, and of the installation."""
    found = dict(Tenant.objects.filter(pk__in=chains).values_list("pk", "name"))
    return {**found, INSTALLATION: NAME_OF_INSTALLATION}


def _removed(text: str | None) -> UUID | None:
    """Return the id of a removed tenant, whose chain outlives it."""
    try:
        chain = UUID(text or "")
    except ValueError:
        return None
    return chain if AuditChain.objects.filter(tenant_id=chain).exists() else None
