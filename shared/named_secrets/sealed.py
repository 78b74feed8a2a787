"""The sealed form of a named secret: its value with its binding, for one tenant and name.

The binding is sealed with the value, so a worker judges by it at the last moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from shared.encryption import open_json, seal_json
from shared.named_secrets.bindings import Binding
from shared.sealing_contexts import named_secret_context


@dataclass(frozen=True, slots=True)
class NamedValue:
    """An opened secret: never shown, logged or stored."""

    value: str = field(repr=False)
    binding: Binding


def seal_secret(tenant_id: UUID | str, name: str, value: str, binding: Binding) -> bytes:
    """Seal a value and its binding so that they open under this tenant and name only."""
    document = {"value": value, "hosts": list(binding.hosts), "commands": list(binding.commands)}
    return seal_json(document, named_secret_context(tenant_id, name))


def open_secret(blob: bytes, tenant_id: UUID | str, name: str) -> NamedValue:
    """Return the secret; raise DecryptionFailed where it is not this tenant's, or has no key."""
    found = open_json(blob, named_secret_context(tenant_id, name))
    hosts: Sequence[str] = found["hosts"]
    return NamedValue(found["value"], Binding(tuple(hosts), tuple(found["commands"])))
