"""Reads named secrets for validation, for messages to workers, and for a test of a definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any
from uuid import UUID

from shared.named_secrets.bindings import Binding
from shared.named_secrets.opened import NO_SECRETS, Secrets
from shared.named_secrets.references import names_of
from shared.named_secrets.sealed import open_secret
from tasks.models import NamedSecret

#: From names to the bindings of the secrets that exist.
BindingsOf = Callable[[Sequence[str]], Mapping[str, Binding]]


def bindings_of(tenant_id: UUID) -> BindingsOf:
    """Return the function that finds where the tenant's secrets may go, by their names."""
    known: dict[str, Binding | None] = {}

    def find(names: Sequence[str]) -> Mapping[str, Binding]:
        missing = [name for name in names if name not in known]
        if missing:
            known.update(dict.fromkeys(missing))
            found = NamedSecret.objects.filter(tenant_id=tenant_id, name__in=missing)
            for name, hosts, commands in found.values_list("name", "hosts", "commands"):
                known[name] = Binding(tuple(hosts), tuple(commands))
        return {name: one for name in names if (one := known[name]) is not None}

    return find


def sealed_secrets(used: Mapping[UUID, Set[str]]) -> dict[UUID, dict[str, bytes]]:
    """Return the sealed secrets by tenant and name, in one query; none where nothing is used.

    A name that has no secret is left out.
    """
    if not used:
        return {}
    names = set().union(*used.values())
    found = NamedSecret.objects.filter(tenant_id__in=list(used), name__in=names)
    sealed: dict[UUID, dict[str, bytes]] = {}
    for tenant_id, name, blob in found.values_list("tenant_id", "name", "sealed"):
        if name in used[tenant_id]:
            sealed.setdefault(tenant_id, {})[name] = bytes(blob)
    return sealed


def secrets_for(tenant_id: UUID, target: Mapping[str, Any]) -> Secrets:
    """Return the opened secrets that a whole target names; raise DecryptionFailed."""
    return named_secrets(tenant_id, names_of(target))


def named_secrets(tenant_id: UUID, names: Sequence[str]) -> Secrets:
    """Return the opened secrets of these names; raise DecryptionFailed."""
    if not names:
        return NO_SECRETS
    sealed = sealed_secrets({tenant_id: set(names)}).get(tenant_id, {})
    return Secrets(
        {name: open_secret(blob, tenant_id, name) for name, blob in sealed.items()}, names
    )
